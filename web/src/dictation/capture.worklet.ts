// The part that runs in the audio thread: sound in, portions out.
//
// A file of its own, because the page's policy runs nothing but the page's own files. It says `null` when it was asked
// to finish and all was said.
import { Portions, Resampler } from "./resampler";

// What the audio thread has, which is not what a page has.
declare const sampleRate: number;
declare function registerProcessor(name: string, processor: unknown): void;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}

class Capture extends AudioWorkletProcessor {
  readonly #resampler = new Resampler(sampleRate);
  readonly #portions = new Portions();
  #going = true;

  constructor() {
    super();
    this.port.onmessage = () => {
      this.#going = false;
      const rest = this.#portions.rest();
      if (rest.byteLength > 0) this.port.postMessage(rest, [rest]);
      this.port.postMessage(null);
    };
  }

  process([input]: Float32Array[][]): boolean {
    const [samples] = input ?? [];
    if (this.#going && samples !== undefined) {
      for (const portion of this.#portions.push(this.#resampler.push(samples))) {
        this.port.postMessage(portion, [portion]);
      }
    }
    return this.#going;
  }
}

registerProcessor("jackfield-capture", Capture);
