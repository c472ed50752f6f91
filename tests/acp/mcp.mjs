// An MCP server on standard input and output with one tool, `echo`, which says what it is told.

import { createInterface } from "node:readline";

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "bench", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      {
        name: "echo",
        description: "Says what it is told",
        inputSchema: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
      },
    ],
  }),
  "tools/call": ({ arguments: { text } }) => ({ content: [{ type: "text", text }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const rest = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: "no such method" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);
}
