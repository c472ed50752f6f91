// Takes the generated types of the contract into the page's sources.
// With --check it writes nothing and fails if they differ.
import { readFileSync, writeFileSync } from "node:fs";

const from = new URL("../../docs/schema/jackfield.ts", import.meta.url);
const to = new URL("../src/contract/jackfield.ts", import.meta.url);

const wanted = readFileSync(from, "utf8");
let present = null;
try {
  present = readFileSync(to, "utf8");
} catch {
  // Not there yet.
}
if (present === wanted) {
  console.log("contract: fresh");
} else if (process.argv.includes("--check")) {
  console.error("contract: stale; run `npm run contract`");
  process.exit(1);
} else {
  writeFileSync(to, wanted);
  console.log("contract: written");
}
