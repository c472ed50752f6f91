// Shows recordings in the built page: `npm run build && npm run dev [area/name …]`, then open the link that it prints.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Played, serve } from "./stand-in.mjs";

const root = new URL("../..", import.meta.url).pathname;
const program = process.env.JACKFIELD ?? join(root, "target/debug/jackfield");
const wanted = process.argv.slice(2);
const names =
  wanted.length > 0
    ? wanted
    : ["basic/partial_all_blocks", "tools/read_write_edit", "tools/subagent", "permission/parallel_requests"];

const sessions = names.map((name, at) => {
  const file = join(root, "fixtures/recordings", name, "transcript.jsonl");
  const lines = execFileSync(program, ["replay", "--format", "json", file], { encoding: "utf8", maxBuffer: 1 << 30 });
  const coming = lines
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return new Played({ id: `s${at}`, title: name, coming });
});
const { link } = await serve(sessions, Number(process.env.PORT ?? 4177));
console.log(link);
