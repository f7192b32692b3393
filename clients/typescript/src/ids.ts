import type { Caller, CallOptions } from "./caller.js";
import { Coalescer } from "./coalescer.js";
import { checkCount } from "./errors.js";
import type { EventSink } from "./events.js";
import { rules } from "./rules.js";
import { int64, list, malformed, safe, type Json } from "./wire.js";

/** Range is count IDs on one worker within one tick: first, first + step, and so on. */
export interface Range {
  readonly first: bigint;
  readonly count: number;
  readonly step: bigint;
}

const mostIds = 1_000_000;
const mostUuids = 100_000;
/** A greater number of IDs takes as long as its ticks last, on any member. */
const quickCount = 4_096;
/** The time for an ID in layouts with few IDs per tick. */
const perIdMs = 0.25;

/** Ids requests IDs of one layout from members. */
export class Ids {
  readonly #caller: Caller;
  readonly #layout: string;
  readonly #calls: Coalescer<readonly Range[]>;

  constructor(caller: Caller, layout: string, emit: EventSink) {
    this.#caller = caller;
    this.#layout = layout;
    this.#calls = new Coalescer((count, timeoutMs) => this.fetch(count, 0n, { timeoutMs }), () => false, caller.timeoutMs, emit, mostIds);
  }

  /** The time limit of calls without one. */
  get timeoutMs(): number {
    return this.#caller.timeoutMs;
  }

  next(options: CallOptions): Promise<bigint> {
    return this.#calls.take(1, options, at);
  }

  async batch(count: number, options: CallOptions): Promise<bigint[]> {
    checkCount(count, mostIds, "IDs");
    return await this.#calls.take(count, options, idsOf);
  }

  /** Requests IDs greater than after, in a request of their own. */
  async fetch(count: number, after: bigint, options: CallOptions): Promise<readonly Range[]> {
    const answer = await this.#caller.call(rules.generateIds, {
      body: { layout: this.#layout, count, packed: false, ...(after === 0n ? {} : { after: `${after}` }) },
      workMs: count * perIdMs,
      large: count > quickCount,
    }, options);
    return rangesOf(answer, count, after);
  }

  async uuids(count: number, options: CallOptions): Promise<string[]> {
    checkCount(count, mostUuids, "UUIDs");
    const answer = await this.#caller.call(rules.generateUuids, {
      body: { layout: this.#layout, count }, workMs: count * perIdMs, large: count > quickCount,
    }, options);
    const uuids = list(answer, "uuids");
    if (uuids.length !== count || !uuids.every((uuid) => typeof uuid === "string")) {
      throw malformed(`${uuids.length} UUIDs instead of the ${count} requested`);
    }
    return uuids as string[];
  }
}

/** rangesOf returns the ranges of an answer, and throws unless they hold count different IDs greater than after. */
function rangesOf(answer: Json, count: number, after: bigint): readonly Range[] {
  let sum = 0;
  let step = 0n;
  const ranges = (list(answer, "ranges") as Json[]).map((json) => {
    const range = { first: int64(json["first"], "first"), count: safe(json["count"], "count"), step: int64(json["step"], "step") };
    sum += range.count;
    step ||= range.step;
    const last = lastOf(range);
    if (range.count < 1 || range.first <= after || range.step < 1n || range.step !== step || BigInt.asIntN(64, last) !== last) {
      throw malformed(`${range.count} IDs from ${range.first} by ${range.step} after ${after}`);
    }
    return range;
  });
  if (sum !== count) {
    throw malformed(`${sum} IDs instead of the ${count} requested`);
  }
  checkDistinct(ranges);
  return ranges;
}

/** checkDistinct throws if ranges of one step share an ID. They can only if their IDs have the same remainder modulo the step. */
function checkDistinct(ranges: readonly Range[]): void {
  const sorted = ranges.map((range) => ({ range, rest: range.first % range.step }));
  sorted.sort((a, b) => compare(a.rest, b.rest) || compare(a.range.first, b.range.first));
  sorted.reduce((a, b) => {
    if (a.rest === b.rest && b.range.first <= lastOf(a.range)) {
      throw malformed(`ID ${b.range.first} twice`);
    }
    return b;
  });
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function lastOf(range: Range): bigint {
  return range.first + BigInt(range.count - 1) * range.step;
}

/** at returns the ID at an index of ranges. */
function at(ranges: readonly Range[], index: number): bigint {
  let left = index;
  for (const range of ranges) {
    if (left < range.count) {
      return range.first + BigInt(left) * range.step;
    }
    left -= range.count;
  }
  throw new RangeError(`index ${index}`);
}

/** idsOf returns count IDs of ranges from an index on. */
export function idsOf(ranges: readonly Range[], offset: number, count: number): bigint[] {
  const ids: bigint[] = [];
  let skip = offset;
  for (const range of ranges) {
    let id = range.first + BigInt(skip) * range.step;
    for (let i = skip; i < range.count && ids.length < count; i++) {
      ids.push(id);
      id += range.step;
    }
    skip = Math.max(0, skip - range.count);
  }
  return ids;
}
