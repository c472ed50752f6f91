// A scripted Messages API on loopback, enough for one turn with a tool and one without: what the real CLI talks to in
// the tests.
import { createServer } from "node:http";

/** Listens; gives its address, what it was asked (newest last), and what ends it. */
export function scriptedApi() {
  const asked = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => answer(request, response, body, asked));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const stop = () => {
        server.closeAllConnections();
        server.close();
      };
      resolve({ address: `http://127.0.0.1:${server.address().port}`, asked, stop });
    });
  });
}

function answer(request, response, body, all) {
  if (!request.url.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
    response.writeHead(request.url.includes("count_tokens") ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify({ input_tokens: 10 }));
    return;
  }
  const asked = JSON.parse(body);
  all.push(asked);
  const block = blockFor(asked);
  const stop_reason = block.type === "tool_use" ? "tool_use" : "end_turn";
  const message = {
    id: `msg_${Date.now()}`,
    type: "message",
    role: "assistant",
    model: asked.model,
    usage: { input_tokens: 100, output_tokens: 20 },
  };
  if (!asked.stream) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...message, content: [block], stop_reason, stop_sequence: null }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type, rest) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  send("message_start", { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
  if (block.type === "text") {
    send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
    for (const word of block.text.split(/(?<= )/))
      send("content_block_delta", { index: 0, delta: { type: "text_delta", text: word } });
  } else {
    send("content_block_start", { index: 0, content_block: { ...block, input: {} } });
    send("content_block_delta", {
      index: 0,
      delta: { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    });
  }
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } });
  send("message_stop", {});
  response.end();
}

/** A command on the first asking for one, words otherwise. */
function blockFor({ messages, tools = [] }) {
  const last = messages.at(-1);
  const text = JSON.stringify(last?.content ?? "");
  if (text.includes("tool_result")) return { type: "text", text: "The file **hello.txt** is written." };
  if (text.includes("make a file") && tools.some((tool) => tool.name === "Bash")) {
    return {
      type: "tool_use",
      id: `toolu_${Date.now()}`,
      name: "Bash",
      input: { command: "echo hello > hello.txt", description: "Write a file" },
    };
  }
  return { type: "text", text: "I am here." };
}
