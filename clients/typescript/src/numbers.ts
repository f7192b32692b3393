import { int64, list, malformed, safe, text, type Json } from "./wire.js";

/** Numbers is count numbers of a sequence: first, first + increment, and so on. All fit into 64 bits. */
export class Numbers implements Iterable<bigint> {
  constructor(
    readonly first: bigint,
    readonly count: number,
    /** Not 0; may be negative. */
    readonly increment: bigint,
    /** First day of the period that the numbers belong to, such as 2026-11-22; empty without a reset. */
    readonly period: string,
    /** The numbers as text, if the sequence has a format, a member issued them, and its answer has at most 1,000 numbers. */
    readonly texts: readonly string[] | undefined = undefined,
  ) {}

  /** Returns the number at an index, from 0 on. */
  at(index: number): bigint {
    if (!Number.isInteger(index) || index < 0 || index >= this.count) {
      throw new RangeError(`index ${index}: expected 0 to ${this.count - 1}`);
    }
    return this.first + BigInt(index) * this.increment;
  }

  /** Yields the numbers in their order. */
  *[Symbol.iterator](): Iterator<bigint> {
    for (let i = 0; i < this.count; i++) {
      yield this.at(i);
    }
  }

  /** Returns count of these numbers from an index on. */
  part(from: number, count: number): Numbers {
    return new Numbers(this.at(from), count, this.increment, this.period, this.texts?.slice(from, from + count));
  }
}

/** fits reports whether count numbers are all different and fit into a signed number of 64 bits. */
export function fits(first: bigint, count: bigint, increment: bigint): boolean {
  const last = first + (count - 1n) * increment;
  return count > 0n && increment !== 0n && BigInt.asIntN(64, last) === last;
}

/** numbersOf returns the numbers of an answer, and throws unless there are count of them. */
export function numbersOf(answer: Json, count: number): Numbers {
  const texts = list(answer, "texts");
  const has = texts.length > 0 && text(answer, "format") !== "";
  const numbers = new Numbers(
    int64(answer["first"], "first"), safe(answer["count"], "count"), int64(answer["increment"], "increment"), text(answer, "period"),
    has ? (texts as string[]) : undefined,
  );
  if (numbers.count !== count || !fits(numbers.first, BigInt(count), numbers.increment) ||
    (texts.length > 0 && texts.length !== count) || !texts.every((t) => typeof t === "string")) {
    throw malformed(`${numbers.count} numbers from ${numbers.first} by ${numbers.increment} and ${texts.length} texts ` +
      `instead of the ${count} numbers requested`);
  }
  return numbers;
}
