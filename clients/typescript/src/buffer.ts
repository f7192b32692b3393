import { performance } from "node:perf_hooks";
import type { CallOptions } from "./caller.js";
import { checkCount, checkNames, closedError, invalid, own, SnowraftError } from "./errors.js";
import type { Ids, Range } from "./ids.js";
import { Bell, sleep, timeoutOf } from "./wait.js";

/** BufferOptions are the options of a {@link IdBuffer}. */
export interface BufferOptions {
  /** Layout of the IDs; the default is "default". */
  layout?: string | undefined;
  /** Least number of IDs in a full buffer, 1 to 1,000,000; the default is 1,000. It grows with the rate of use. */
  size?: number | undefined;
  /** Age at which IDs are dropped, in milliseconds, at least 100; the default is 10,000. A greater age bridges longer outages. */
  ageMs?: number | undefined;
}

const mostSize = 1_000_000;
const leastAgeMs = 100;
/** A full buffer lasts for this time at the present rate, at most for half of the age. */
const spanMs = 5_000;
/** The part of a full buffer at which it is refilled, and the interval at which it is filled in any case. */
const threshold = 0.3;
const topUpMs = 1_000;
/** The time limit of one request, and the greatest number of IDs in it. */
const fillMs = 3_000;
const mostFetched = 100_000;
const leastFetched = 1_000;
const firstPauseMs = 10;
const longestPauseMs = 1_000;
/** The shortest time over which the rate is measured. */
const rateWindowMs = 250;

/** Chunk holds the IDs of one range of an answer. */
interface Chunk {
  next: bigint;
  left: number;
  readonly step: bigint;
  readonly bornMs: number; // monotonic time of the request
}

/**
 * IdBuffer holds IDs that it requested in advance, so that next is synchronous. It requests IDs in the background when only a part
 * is left, and drops those that are older than its age. IDs are in no order. While no member can be reached, it issues the IDs
 * that it holds.
 */
export class IdBuffer {
  readonly #ids: Ids;
  readonly #least: number;
  readonly #ageMs: number;
  readonly #chunks: Chunk[] = [];
  readonly #wake = new Bell();
  readonly #filled = new Bell();
  readonly #onClose: () => void;
  #level = 0;
  #mark: number; // the level at which the filler wakes
  #capacity: number;
  #taken = 0;
  #starved = false;
  #rate = 0; // IDs per millisecond
  #since = performance.now();
  #base = 0; // IDs taken until then
  #batch = mostFetched;
  #problem: SnowraftError | undefined;
  #closed = false;

  /** @internal Use Client.buffer. */
  constructor(ids: Ids, options: BufferOptions, onClose: () => void) {
    checkNames(options, ["layout", "size", "ageMs"]);
    this.#least = options.size ?? 1_000;
    checkCount(this.#least, mostSize, "IDs in a buffer");
    this.#ageMs = options.ageMs ?? 10_000;
    if (!(this.#ageMs >= leastAgeMs)) {
      throw invalid(`age ${this.#ageMs} ms: expected at least ${leastAgeMs} ms`);
    }
    this.#ids = ids;
    this.#capacity = this.#least;
    this.#mark = Math.floor(this.#capacity * threshold);
    this.#onClose = onClose;
    void this.#fill();
  }

  /** Returns an ID from memory. Throws EMPTY if there is none now, or the reason of the last failed request. */
  next(): bigint {
    const chunk = this.#chunks[0];
    if (chunk === undefined) {
      this.#starved = true;
      this.#wake.ring();
      throw this.#reason();
    }
    const id = chunk.next;
    chunk.next += chunk.step;
    if (--chunk.left === 0) {
      this.#chunks.shift();
    }
    this.#taken++;
    if (--this.#level === this.#mark) {
      this.#wake.ring();
    }
    return id;
  }

  /** Returns an ID as a decimal text. It throws as next does. */
  nextString(): string {
    return this.next().toString();
  }

  /** Returns an ID, and waits for one for at most the time limit if there is none, by default that of the client. */
  async nextAsync(options: CallOptions = {}): Promise<bigint> {
    await this.ready(options);
    return this.next();
  }

  /** Waits until there is an ID, for at most the time limit, by default that of the client. It fails at once if waiting does not help. */
  async ready(options: CallOptions = {}): Promise<void> {
    const deadline = performance.now() + timeoutOf(options, this.#ids.timeoutMs);
    while (this.#level === 0) {
      const left = deadline - performance.now();
      if (this.#closed || left <= 0 || this.#problem?.retry === false) {
        throw this.#reason();
      }
      this.#starved = true;
      this.#wake.ring();
      await sleep(left, [this.#filled]);
    }
  }

  /** How many IDs are in memory now. */
  get level(): number {
    return this.#level;
  }

  #reason(): SnowraftError {
    if (this.#closed) {
      return closedError();
    }
    return own(this.#problem) ?? new SnowraftError("snowraft: the buffer is empty; await ready() first", { reason: "EMPTY", retryAfterMs: firstPauseMs });
  }

  /** Fills the buffer and drops old IDs until close. */
  async #fill(): Promise<void> {
    let pause = firstPauseMs;
    let topUpAt = 0;
    while (!this.#closed) {
      const now = performance.now();
      this.#drop(now - this.#ageMs);
      this.#measure(now);
      if (this.#level <= this.#mark || now >= topUpAt) {
        topUpAt = now + topUpMs;
        if (this.#level < this.#capacity && !(await this.#request(now))) {
          await sleep(pause, [], true);
          pause = Math.min(2 * pause, longestPauseMs);
          topUpAt = 0;
          continue;
        }
        pause = firstPauseMs;
      }
      if (this.#level > this.#mark) {
        const oldest = this.#chunks[0]?.bornMs ?? Infinity;
        await sleep(Math.min(topUpAt, oldest + this.#ageMs) - performance.now() + 1, [this.#wake], true);
      }
    }
  }

  /** Requests the missing IDs, and reports whether it got some. */
  async #request(now: number): Promise<boolean> {
    const count = Math.min(this.#capacity - this.#level, this.#batch);
    let ranges: readonly Range[];
    try {
      ranges = await this.#ids.fetch(count, 0n, { timeoutMs: fillMs });
    } catch (error) {
      this.#problem = SnowraftError.is(error) ? error : new SnowraftError(String(error), { reason: "INTERNAL" });
      if (this.#problem.reason === "TIMEOUT") {
        this.#batch = Math.max(leastFetched, Math.floor(this.#batch / 2)); // a request of this size may take too long
      }
      this.#filled.ring();
      return false;
    }
    if (this.#closed) {
      return true;
    }
    this.#problem = undefined;
    this.#batch = Math.min(2 * this.#batch, mostFetched);
    for (const range of ranges) {
      this.#chunks.push({ next: range.first, left: range.count, step: range.step, bornMs: now });
      this.#level += range.count;
    }
    this.#filled.ring();
    return true;
  }

  /** Drops the IDs that were requested at a time or before. */
  #drop(bornMs: number): void {
    for (let chunk = this.#chunks[0]; chunk !== undefined && chunk.bornMs <= bornMs; chunk = this.#chunks[0]) {
      this.#level -= chunk.left;
      this.#chunks.shift();
    }
  }

  /** Updates the rate and the capacity. A sudden load takes effect at once. */
  #measure(now: number): void {
    const elapsed = now - this.#since;
    const span = Math.min(spanMs, this.#ageMs / 2);
    const recent = (this.#taken - this.#base) / Math.max(elapsed, rateWindowMs);
    if (recent > this.#rate) {
      this.#rate = recent;
    } else if (elapsed >= rateWindowMs) {
      this.#rate += (recent - this.#rate) * Math.min(1, elapsed / span);
    }
    if (elapsed >= rateWindowMs) {
      this.#since = now;
      this.#base = this.#taken;
    }
    if (this.#starved && this.#taken > 0) {
      this.#rate = Math.max(this.#rate, (2 * this.#capacity) / span); // the capacity was too small, whatever the rate was
    }
    this.#starved = false;
    this.#capacity = Math.floor(Math.max(this.#least, Math.min(Math.ceil(this.#rate * span), mostSize)));
    this.#mark = Math.floor(this.#capacity * threshold);
  }

  /** Drops the IDs. Later calls fail with CLOSED. */
  close(): Promise<void> {
    this.#closed = true;
    this.#chunks.length = 0;
    this.#level = 0;
    this.#wake.ring();
    this.#filled.ring();
    this.#onClose();
    return Promise.resolve();
  }
}
