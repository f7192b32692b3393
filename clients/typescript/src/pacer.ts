import type { Block } from "./stock.js";
import { backoffMs, maxBackoffMs } from "./window.js";

/** The shortest window, in milliseconds, over which a rate is measured. */
const minWindowMs = 100;
/** A shorter window counts as at least these, to decide when to request a block, and how large it should be. */
const shortWindowMs = 10;
const burstWindowMs = 1_000;
/** The least number of round trips that a block lasts. */
const headroom = 4;
const defaultDurationMs = 10_000;
const longestDurationMs = 3_600_000;
const mostCount = Number.MAX_SAFE_INTEGER;

/**
 * Pacer decides when to request a block, and how many numbers. Rates are in numbers per millisecond.
 *
 * The next block is requested when a fifth of the present one is left, or when the rest would be used up within two round trips.
 * A block should last for the block duration of the sequence. It has between half and twice as many numbers as the one before,
 * and more if the load has jumped.
 */
export class Pacer {
  readonly #first: number;
  #durationMs = 0; // 0 if no block was granted yet
  #min = 1;
  #max = mostCount;
  #size = 0;
  #roundTripMs = 0;
  #since = NaN;
  #base = 0; // numbers taken before the window
  #rate = 0;
  #recent = 0;
  #burst = 0;
  #failures = 0;
  #retryAt = -Infinity;

  constructor(first: number) {
    this.#first = first;
  }

  /** Records how many numbers were taken so far. */
  measure(mono: number, taken: number): void {
    const elapsed = mono - this.#since;
    const n = taken - this.#base;
    if (!(elapsed >= 0) || n < 0) {
      this.#since = mono;
      this.#base = taken;
      return;
    }
    this.#recent = n / Math.max(elapsed, shortWindowMs);
    this.#burst = n / burstWindowMs;
    if (elapsed < minWindowMs) {
      return;
    }
    const weight = Math.min(1, Math.max(0.5, elapsed / Math.max(this.#durationMs, 1)));
    this.#rate += (this.#rate > 0 ? weight : 1) * (this.#recent - this.#rate);
    this.#since = mono;
    this.#base = taken;
    this.#burst = 0;
  }

  /** Records a block and the time that its request took. */
  granted(block: Block, tookMs: number): void {
    this.#durationMs = Math.min(block.durationMs > 0 ? block.durationMs : defaultDurationMs, longestDurationMs);
    this.#max = block.maxCount > 0 ? block.maxCount : mostCount;
    this.#min = Math.max(1, Math.min(block.minCount, this.#max));
    this.#failures = 0;
    this.#retryAt = -Infinity;
    const sample = Math.max(1, tookMs);
    this.#roundTripMs = sample > this.#roundTripMs ? sample : this.#roundTripMs + (sample - this.#roundTripMs) / 8;
  }

  /** Records a failed request, and reports whether it is the first in a row. */
  failed(mono: number): boolean {
    this.#failures++;
    this.#retryAt = mono + backoffMs(this.#failures, maxBackoffMs);
    return this.#failures === 1;
  }

  /** Whether a request in the background may be made. */
  mayRequest(mono: number): boolean {
    return mono >= this.#retryAt;
  }

  /** Returns how many numbers to request when callers wait for sum numbers together, and the largest call for most. */
  ask(sum: number, most: number): number {
    if (this.#durationMs === 0) {
      this.#size = this.#first;
      return Math.max(this.#size, sum);
    }
    const rate = Math.max(this.#rate, this.#burst);
    const lasting = (ms: number): number => Math.ceil(rate * Math.max(ms, headroom * this.#roundTripMs));
    const gradual = Math.min(Math.max(lasting(this.#durationMs), this.#size / 2), 2 * this.#size);
    this.#size = Math.max(this.#min, Math.min(Math.ceil(Math.max(gradual, lasting(this.#durationMs / 4))), this.#max));
    return Math.max(Math.min(Math.max(this.#size, sum), this.#max), most);
  }

  /** Returns how many numbers of a block are left when the next one is requested. */
  reserve(count: number): number {
    return Math.max(Math.ceil(count / 5), Math.ceil(2 * this.#roundTripMs * Math.max(this.#rate, this.#recent)));
  }
}
