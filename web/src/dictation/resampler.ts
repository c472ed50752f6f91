// Sound of any rate becomes sound of 16 kHz, in portions of a tenth of a second.
//
// Runs in the audio thread. The one rule it keeps: nothing above 8 kHz folds back into what is heard, and what was
// pushed comes out whole, whatever the sizes in which it came.

/** What the host understands. */
export const RATE = 16_000;
/** Samples of a portion. */
export const PORTION = RATE / 10;
/** Zero crossings of the filter to each side. */
const CROSSINGS = 12;
/** Values of the filter between two of them. */
const FINENESS = 128;
/** How much of the band is kept; the rest is where the filter falls. */
const KEPT = 0.92;

/** A windowed sinc, sampled finely enough to take the nearest value. */
const FILTER = Float32Array.from({ length: CROSSINGS * FINENESS + 1 }, (_, at) => {
  const x = at / FINENESS;
  const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  return sinc * (0.5 + 0.5 * Math.cos((Math.PI * x) / CROSSINGS));
});

/** Changes the rate of what is pushed into it. */
export class Resampler {
  /** Input samples per output sample. */
  readonly #step: number;
  /** The filter's crossings per input sample. */
  readonly #narrow: number;
  /** Input samples to each side of an output sample that count. */
  readonly #reach: number;
  #kept: Float32Array;
  /** Where the next output sample lies in what is kept. */
  #at: number;

  constructor(rate: number) {
    this.#step = rate / RATE;
    this.#narrow = Math.min(1, RATE / rate) * KEPT;
    this.#reach = Math.ceil(CROSSINGS / this.#narrow);
    // Before the first sample there was silence.
    this.#kept = new Float32Array(this.#reach);
    this.#at = this.#reach;
  }

  /** Takes sound; gives what can be told of it. */
  push(samples: Float32Array): Float32Array {
    if (this.#step === 1) return samples.slice();
    const all = new Float32Array(this.#kept.length + samples.length);
    all.set(this.#kept);
    all.set(samples, this.#kept.length);
    const many = Math.max(0, Math.ceil((all.length - this.#reach - this.#at) / this.#step));
    const out = Float32Array.from({ length: many }, (_, n) => this.#around(all, this.#at + n * this.#step));
    this.#at += many * this.#step;
    const passed = Math.max(0, Math.floor(this.#at) - this.#reach);
    this.#kept = all.slice(passed);
    this.#at -= passed;
    return out;
  }

  #around(all: Float32Array, at: number): number {
    let sum = 0;
    const last = Math.min(all.length - 1, Math.floor(at) + this.#reach);
    for (let place = Math.max(0, Math.ceil(at) - this.#reach); place <= last; place += 1) {
      const weight = FILTER[Math.round(Math.abs(at - place) * this.#narrow * FINENESS)];
      if (weight !== undefined) sum += weight * (all[place] as number);
    }
    return sum * this.#narrow;
  }
}

/** Collects samples to portions of 16-bit numbers, little-endian. */
export class Portions {
  #bytes = new DataView(new ArrayBuffer(PORTION * 2));
  #filled = 0;

  /** Takes samples; gives the portions that are full. */
  push(samples: Float32Array): ArrayBuffer[] {
    const full: ArrayBuffer[] = [];
    for (const sample of samples) {
      const value = Math.max(-1, Math.min(1, sample));
      this.#bytes.setInt16(this.#filled * 2, Math.round(value < 0 ? value * 0x8000 : value * 0x7fff), true);
      this.#filled += 1;
      if (this.#filled === PORTION) full.push(this.rest());
    }
    return full;
  }

  /** What is left over. */
  rest(): ArrayBuffer {
    const bytes = this.#bytes.buffer.slice(0, this.#filled * 2) as ArrayBuffer;
    this.#bytes = new DataView(new ArrayBuffer(PORTION * 2));
    this.#filled = 0;
    return bytes;
  }
}

/** How loud a portion is, from 0 (silence) to 1. */
export function levelOf(portion: ArrayBuffer): number {
  const samples = new DataView(portion);
  const many = portion.byteLength >> 1;
  if (many === 0) return 0;
  let sum = 0;
  for (let at = 0; at < many; at += 1) sum += (samples.getInt16(at * 2, true) / 0x8000) ** 2;
  // From −54 dB, where rooms are quiet, to −6 dB, where voices are loud.
  const decibels = 10 * Math.log10(sum / many + 1e-9);
  return Math.max(0, Math.min(1, (decibels + 54) / 48));
}
