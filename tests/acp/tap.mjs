// Sits between a client and an agent and writes down every line of both, in the order in which they pass.
//
//   tap.mjs RECORD PROGRAM [ARGUMENT…]
//
// It changes nothing and judges nothing; what was written down is checked by whoever reads it. The one rule it
// keeps: a line is in the record before the other side can have seen it.

import { spawn } from "node:child_process";
import { openSync, writeSync } from "node:fs";

const [path, program, ...words] = process.argv.slice(2);
const record = openSync(path, "a");
const note = (entry) => writeSync(record, `${JSON.stringify(entry)}\n`);

/** Notes the lines of a stream; what is behind the last line end waits for the rest. */
function lines(from) {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    take(chunk) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop();
      for (const line of parts) note({ from, line });
    },
    end() {
      if (rest !== "") note({ from, line: rest, cut: true });
      rest = "";
    },
  };
}

const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
agent.on("error", (error) => {
  note({ failed: String(error) });
  process.exit(1);
});

const [client_lines, agent_lines] = [lines("client"), lines("agent")];
process.stdin.on("data", (chunk) => {
  client_lines.take(chunk);
  agent.stdin.write(chunk);
});
process.stdin.on("end", () => {
  client_lines.end();
  note({ from: "client", end: true });
  agent.stdin.end();
});
// Who goes away without reading has seen enough.
agent.stdin.on("error", () => {});
process.stdout.on("error", () => {});
agent.stdout.on("data", (chunk) => {
  agent_lines.take(chunk);
  process.stdout.write(chunk);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => agent.kill(signal));
agent.on("close", (code, signal) => {
  agent_lines.end();
  note({ from: "agent", exit: code ?? signal });
  process.stdout.end(() => process.exit(code ?? 1));
});
