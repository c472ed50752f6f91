// A voice for the browser tests: Debian's `espeak-ng` speaks into a file, and Chromium takes the file for its
// microphone. What is spoken is understood by the real engine.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { launch } from "./stage.mjs";

const engine = join(process.env.JACKFIELD_CACHE ?? new URL("../../.cache", import.meta.url).pathname, "speech");

/** Why nothing can be spoken here; false if it can. */
export function cannotSpeak() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  if (!folders.some((folder) => existsSync(join(folder, "espeak-ng")))) return "not run: there is no espeak-ng";
  return existsSync(engine) ? false : "not run: there is no engine: run `cargo xtask setup`";
}

/** Lets a host have the engine. */
export function giveEngine(host) {
  symlinkSync(engine, join(host.data, "speech"));
}

/** A browser whose microphone says these words once, each time that it is opened, and is silent then. */
export async function speaking(words) {
  const file = join(mkdtempSync(join(tmpdir(), "jackfield-voice-")), "voice.wav");
  // As people do, it begins a moment after the microphone is open.
  const spoken = `<speak><break time="700ms"/>${words}</speak>`;
  execFileSync("espeak-ng", ["-v", "en-us", "-s", "150", "-m", "-w", file, spoken]);
  return launch([
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${file}%noloop`,
  ]);
}

/** The processes of a host that understand speech. */
export function recognisers(host) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = Number(
          readFileSync(`/proc/${pid}/stat`, "utf8")
            .replace(/^.*\) \S /s, "")
            .split(" ")[0],
        );
        return parent === host.child.pid && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0recognizer\0");
      } catch {
        // It is gone.
        return false;
      }
    });
}

/** Words that both have, by those that were said: a synthetic voice is not understood to the letter. */
export function share(said, heard) {
  const plain = (text) => text.toLowerCase().match(/[a-z']+/g) ?? [];
  const known = new Set(plain(heard));
  const wanted = plain(said);
  return wanted.filter((word) => known.has(word)).length / wanted.length;
}
