import { Numbers, fits } from "./numbers.js";
import { int64, object, safe, text, uint64, type Json } from "./wire.js";

/** Block is a run of granted numbers: first, first + increment, ..., count of them. */
export interface Block {
  /** Fencing token, greater than those of earlier blocks. */
  readonly token: bigint;
  readonly first: bigint;
  readonly count: number;
  readonly increment: bigint;
  readonly generation: bigint;
  /** First day of the period, and its end in Unix milliseconds; empty and 0 without a reset. */
  readonly period: string;
  readonly periodEndMs: number;
  /** Time that a block should last, and the bounds of the count to request. */
  readonly durationMs: number;
  readonly minCount: number;
  readonly maxCount: number;
}

/** blockOf returns the block of an answer. */
export function blockOf(answer: Json): Block {
  const json = object(answer, "block");
  return {
    token: uint64(json["token"], "token"),
    first: int64(json["first"], "first"),
    count: safe(json["count"], "count"),
    increment: int64(json["increment"], "increment"),
    generation: uint64(json["generation"], "generation"),
    period: text(json, "period"),
    periodEndMs: safe(json["periodEndsAtMs"], "periodEndsAtMs"),
    durationMs: safe(json["blockDurationMs"], "blockDurationMs"),
    minCount: safe(json["minBlock"], "minBlock"),
    maxCount: safe(json["maxBlock"], "maxBlock"),
  };
}

/** isPlausible reports whether a block is valid on its own. */
export function isPlausible(b: Block): boolean {
  return b.token > 0n && b.periodEndMs >= 0 && /^(\d{4}-\d{2}-\d{2})?$/.test(b.period) && fits(b.first, BigInt(b.count), b.increment);
}

/** Epoch identifies a numbering: within it, no number is granted twice, and later blocks have later numbers. */
export interface Epoch {
  readonly generation: bigint;
  readonly period: string;
}

/** isBefore reports whether an epoch is outdated once another one is known. Periods sort as their texts. */
export function isBefore(a: Epoch, b: Epoch): boolean {
  return a.generation < b.generation || (a.generation === b.generation && a.period < b.period);
}

/** isSame reports whether two epochs are the same. */
export function isSame(a: Epoch, b: Epoch): boolean {
  return a.generation === b.generation && a.period === b.period;
}

/** Stock holds the numbers of a block, and how many of them are taken. It may have grown by a block that follows directly. */
export class Stock {
  readonly first: bigint;
  count: number;
  taken = 0;
  /** The last block in it, and how many of its numbers belong to that one. */
  last: Block;
  granted: number;

  constructor(block: Block) {
    this.first = block.first;
    this.count = block.count;
    this.last = block;
    this.granted = block.count;
  }

  get left(): number {
    return this.count - this.taken;
  }

  /** The last number of all. */
  get end(): bigint {
    return this.first + BigInt(this.count - 1) * this.last.increment;
  }

  /** Takes count numbers; the caller makes sure that they are left. */
  take(count: number): Numbers {
    const numbers = new Numbers(this.first + BigInt(this.taken) * this.last.increment, count, this.last.increment, this.last.period);
    this.taken += count;
    return numbers;
  }

  /** Appends a block if it begins right after the end, in the same epoch, and reports whether it did. */
  append(block: Block): boolean {
    const total = this.count + block.count;
    if (!isSame(block, this.last) || block.increment !== this.last.increment || block.periodEndMs !== this.last.periodEndMs ||
      block.first - this.end !== block.increment || !Number.isSafeInteger(total)) {
      return false;
    }
    this.count = total;
    this.last = block;
    this.granted = block.count;
    return true;
  }
}
