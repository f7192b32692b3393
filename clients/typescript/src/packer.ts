import type { Layout } from "./layout.js";

const two32 = 2 ** 32;
/** Which 32-bit word of a 64-bit number is the lower one in memory. */
const low = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;
const high = 1 - low;

/**
 * Packer composes the IDs of one worker from ticks and sequences, both below 2^53. It computes with numbers in two words of
 * 32 bits, and makes one BigInt for each ID.
 */
export class Packer {
  readonly #words = new Uint32Array(2);
  readonly #id = new BigUint64Array(this.#words.buffer);
  readonly #fixed: bigint;
  readonly #timeShift: bigint;
  readonly #sequenceDown: number; // sequence / 2^32 * 2^shift is its part in the upper word
  readonly #sequenceUp: number;
  readonly #isLowest: boolean; // the sequence is in the lower word, and nothing is below it
  #tick = -1;
  #low = 0; // words of all fields but the sequence, at #tick
  #high = 0;

  constructor(layout: Layout, worker: bigint) {
    this.#fixed = (layout.datacenter << BigInt(layout.span("datacenter").shift)) | (worker << BigInt(layout.span("worker").shift));
    this.#timeShift = BigInt(layout.span("time").shift);
    this.#sequenceUp = 2 ** layout.span("sequence").shift;
    this.#sequenceDown = this.#sequenceUp / two32;
    this.#isLowest = this.#sequenceUp === 1 && layout.span("sequence").bits <= 32;
  }

  /** Returns the ID of a tick and a sequence. */
  id(tick: number, sequence: number): bigint {
    if (tick !== this.#tick) {
      const base = this.#fixed | (BigInt(tick) << this.#timeShift);
      this.#low = Number(BigInt.asUintN(32, base));
      this.#high = Number(base >> 32n);
      this.#tick = tick;
      this.#words[high] = this.#high;
    }
    if (this.#isLowest) {
      this.#words[low] = this.#low + sequence;
      return this.#id[0] as bigint;
    }
    const up = Math.floor(sequence * this.#sequenceDown);
    this.#words[low] = this.#low + (sequence * this.#sequenceUp - up * two32);
    this.#words[high] = this.#high + up;
    return this.#id[0] as bigint;
  }
}

/** startsOf returns the function from a fresh tick to its first sequence, as every implementation of Snowraft computes it. */
export function startsOf(layout: Layout): (tick: number) => number {
  const spread = layout.spread;
  if (spread <= 1n) {
    return () => 0;
  }
  if (spread > 1n << 20n) {
    return (tick) => {
      const [hi, lo] = hash(tick);
      return Number((((BigInt(hi) << 32n) | BigInt(lo)) * spread) >> 64n);
    };
  }
  const n = Number(spread);
  return (tick) => {
    const [hi, lo] = hash(tick);
    return Math.floor((hi * n + multiplyHigh(lo, n)) / two32);
  };
}

/** hash returns 64 bits in two words. */
function hash(tick: number): readonly [high: number, low: number] {
  const [hi, lo] = multiply(Math.floor(tick / two32), tick >>> 0, 0x9e3779b9, 0x7f4a7c15);
  return multiply(hi, (lo ^ hi) >>> 0, 0xd6e8feb8, 0x6659fd93);
}

/** multiply returns the lower 64 bits of a product. */
function multiply(ah: number, al: number, bh: number, bl: number): readonly [high: number, low: number] {
  return [(multiplyHigh(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh)) >>> 0, Math.imul(al, bl) >>> 0];
}

/** multiplyHigh returns the upper 32 bits of the product of two words. */
function multiplyHigh(a: number, b: number): number {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const middle = ah * bl + Math.floor((al * bl) / 65536);
  const other = al * bh + (middle % 65536);
  return ah * bh + Math.floor(middle / 65536) + Math.floor(other / 65536);
}
