// The driver of `@anthropic-ai/claude-agent-sdk`: `query()` with streaming input, as its documentation shows it.
// It does what `driver/src/lib.rs` does for the Rust peers, at the same moments and with the same counters.

import { readFileSync } from "node:fs";
import { query } from "@anthropic-ai/claude-agent-sdk";

const WARMING = 20;

/** One session: prompts go in through a generator that waits for them, messages come out of the query. */
class Live {
  static async start(claude) {
    const live = new Live();
    live.query = query({
      prompt: live.prompts(),
      options: { pathToClaudeCodeExecutable: claude, includePartialMessages: true, cwd: process.cwd() },
    });
    await live.query.supportedCommands();
    return live;
  }

  async *prompts() {
    for (;;) {
      await new Promise((wake) => (this.wake = wake));
      yield { type: "user", message: { role: "user", content: "Go on." }, parent_tool_use_id: null };
    }
  }

  async turn(each) {
    this.wake();
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error("the session ended before the result");
      each();
      if (value.type === "result") return;
    }
  }
}

const now = () => process.hrtime.bigint();
const micros = (begun) => Number((now() - begun) / 1000n);
const memory = (line) => Number(readFileSync("/proc/self/status", "utf8").match(new RegExp(`${line}:\\s*(\\d+)`))[1]);

const measures = {
  async turn(claude, spin) {
    const live = await Live.start(claude);
    const nanos = BigInt(spin) * 1000n;
    const cpu = process.cpuUsage();
    const begun = now();
    let messages = 0;
    await live.turn(() => {
      messages += 1;
      if (nanos > 0n) {
        const until = now() + nanos;
        while (now() < until);
      }
    });
    const used = process.cpuUsage(cpu);
    return { messages, cpu_us: used.user + used.system, wall_us: micros(begun), peak_kb: memory("VmHWM") };
  },

  async sessions(claude, count) {
    const sessions = [];
    for (let number = 0; number < Number(count); number += 1) sessions.push(await Live.start(claude));
    const idle_kb = memory("VmRSS");
    await Promise.all(sessions.map((live) => live.turn(() => {})));
    return { idle_kb, used_kb: memory("VmRSS"), peak_kb: memory("VmHWM") };
  },

  async start(claude) {
    const begun = now();
    await Live.start(claude);
    const first_us = micros(begun);
    const again = now();
    await Live.start(claude);
    return { first_us, second_us: micros(again) };
  },

  async latency(claude, turns) {
    const live = await Live.start(claude);
    const firsts = [];
    for (let number = 0; number < WARMING + Number(turns); number += 1) {
      const begun = now();
      let first;
      await live.turn(() => (first ??= Number(now() - begun)));
      if (number >= WARMING) firsts.push(first);
    }
    firsts.sort((a, b) => a - b);
    const at = (part) => firsts[Math.floor((firsts.length * part) / 100)];
    return { p50_ns: at(50), p99_ns: at(99) };
  },
};

const [measure, ...rest] = process.argv.slice(2);
console.log(JSON.stringify(await measures[measure](...rest)));
// The sessions are still open, and would keep the process.
process.exit(0);
