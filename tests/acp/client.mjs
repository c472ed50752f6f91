// Remote control of `@agentclientprotocol/sdk`: see README.md for the lines that go in and come out.
//
//   client.mjs SDK PROGRAM [ARGUMENT…]
//
// It decides nothing: what it is told to say it says by the SDK, and what the SDK hands over it tells.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, program, ...words] = process.argv.slice(2);
const acp = await import(pathToFileURL(sdk));
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const gone = new Promise((resolve) => agent.on("exit", resolve));

// Questions of the agent that wait for their answers.
const open = new Map();
let asked = 0;
function ask({ method, params, signal }) {
  asked += 1;
  const number = asked;
  tell({ asked: number, method, params });
  return new Promise((answer, refuse) => {
    open.set(number, answer);
    signal?.addEventListener("abort", () => {
      tell({ heard: "$/withdrawn", params: { asked: number } });
      open.delete(number);
      refuse(signal.reason);
    });
  });
}

const app = acp.client({ name: "scenario" });
app.onRequest("session/request_permission", ask);
app.onRequest("elicitation/create", ask);
app.onNotification("session/update", ({ params }) => tell({ heard: "session/update", params }));
// The SDK hands those over here too.
app.onNotification("*", ({ method, params }) => method !== "session/update" && tell({ heard: method, params }));
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const connection = app.connect(stream);

async function call({ call: number, method, params }) {
  try {
    tell({ reply: number, result: (await connection.agent.request(method, params)) ?? null });
  } catch (error) {
    const { code, message, data } = error;
    tell({ reply: number, error: { code, message, data } });
  }
}

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  if (line.call) call(line);
  else if (line.notify) await connection.agent.notify(line.notify, line.params);
  else {
    // A question may have been withdrawn in the meantime.
    open.get(line.answer)?.(line.result);
    open.delete(line.answer);
  }
}
agent.stdin.end();
await gone;
process.exit(0);
