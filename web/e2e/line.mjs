// The line between a browser and the host, which a test can cut and mend: connections die in the middle of a byte
// stream, as they do when a network goes away.
//
// The host knows only its own address, so the line puts it in the place of its own; both have five digits, so that
// no length changes.
import { connect, createServer } from "node:net";

/** A line to a host. */
export class Line {
  #sockets = new Set();
  #isCut = false;

  constructor(target) {
    this.target = Number(target);
    this.server = createServer((near) => this.#join(near));
  }

  /** Listens; gives the port. */
  async open() {
    for (;;) {
      await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
      this.port = this.server.address().port;
      if (this.port >= 10_000) return this.port;
      await new Promise((resolve) => this.server.close(resolve));
    }
  }

  /** Everything that is open dies, and nothing new gets through. */
  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** It works again. */
  mend() {
    this.#isCut = false;
  }

  /** Ends it. */
  close() {
    this.cut();
    this.server.close();
  }

  #join(near) {
    if (this.#isCut) return near.destroy();
    const far = connect(this.target, "127.0.0.1");
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (data) => far.write(this.#addressed(data)));
    far.pipe(near);
  }

  #addressed(data) {
    const text = data.toString("latin1");
    if (!/^(GET|POST|PUT) /.test(text)) return data;
    return Buffer.from(text.replaceAll(`127.0.0.1:${this.port}`, `127.0.0.1:${this.target}`), "latin1");
  }
}
