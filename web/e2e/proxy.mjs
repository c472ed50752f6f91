// A reverse proxy in front of the host, as people put one there: it serves the host below a path of its own.
import { createServer, request } from "node:http";
import { connect } from "node:net";

/** A proxy; `rewrite` turns the path that a browser asks for into the host's, or gives null for what is not there. */
export class ReverseProxy {
  constructor(target, rewrite) {
    const [host, port] = target.split(":");
    this.target = { host, port: Number(port) };
    this.server = createServer((asked, answer) => {
      const path = rewrite(asked.url);
      if (path === null) {
        answer.writeHead(404).end();
        return;
      }
      const onward = request({ ...this.target, method: asked.method, path, headers: asked.headers }, (told) => {
        answer.writeHead(told.statusCode, told.headers);
        told.pipe(answer);
      });
      onward.on("error", () => answer.destroy());
      asked.pipe(onward);
    });
    this.sockets = new Set();
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
    this.server.on("upgrade", (asked, near, head) => {
      const path = rewrite(asked.url);
      if (path === null) return near.destroy();
      const far = connect(this.target.port, this.target.host, () => {
        const lines = [`${asked.method} ${path} HTTP/1.1`];
        for (let at = 0; at < asked.rawHeaders.length; at += 2)
          lines.push(`${asked.rawHeaders[at]}: ${asked.rawHeaders[at + 1]}`);
        far.write(`${lines.join("\r\n")}\r\n\r\n`);
        far.write(head);
        far.pipe(near);
        near.pipe(far);
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ]) {
        one.on("error", () => undefined);
        one.on("close", () => other.destroy());
      }
    });
  }

  /** Listens; gives `127.0.0.1:port`. */
  async open(port = 0) {
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return `127.0.0.1:${this.server.address().port}`;
  }

  /** Ends it. */
  close() {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

/** A port that was free a moment ago. */
export async function freePort() {
  const probe = new ReverseProxy("127.0.0.1:1", () => null);
  const address = await probe.open();
  probe.close();
  return Number(address.split(":")[1]);
}
