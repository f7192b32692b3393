import type { Reading } from "./clock.js";
import type { Numbers } from "./numbers.js";
import { Stock, type Block } from "./stock.js";

/** The time for which a block serves although its period has ended by this process's clock: the cluster has just granted it. */
const lenientMs = 100;

/** Shelf holds the blocks of a sequence in memory: the present one, and the next. Numbers leave it in their order. */
export class Shelf {
  #current: Stock | undefined;
  #next: Stock | undefined;
  #takenBefore = 0; // from blocks before the present one
  #lenientUntil = -Infinity; // monotonic

  /** The present block; undefined if there is none. */
  get current(): Stock | undefined {
    return this.#current;
  }

  /** Whether there is a block after the present one. */
  get hasNext(): boolean {
    return this.#next !== undefined;
  }

  /** How many numbers were taken. */
  get taken(): number {
    return this.#takenBefore + (this.#current?.taken ?? 0);
  }

  /** Returns how many numbers may be taken at a reading of the clock. */
  left(now: Reading): number {
    return [this.#current, this.#next].reduce((sum, stock) => sum + (this.#serves(stock, now) ? stock.left : 0), 0);
  }

  /** Whether there is a block whose period has not ended by this process's clock. */
  #serves(stock: Stock | undefined, now: Reading): stock is Stock {
    return stock !== undefined && (stock.last.periodEndMs === 0 || now.wall < stock.last.periodEndMs || now.mono < this.#lenientUntil);
  }

  /** Takes count numbers in one run; undefined if no block has them. It moves on to the next block if that one has them. */
  take(count: number, now: Reading): Numbers | undefined {
    const present = this.#current;
    if (this.#serves(present, now) && present.left >= count) {
      return present.take(count);
    }
    const next = this.#next;
    const mayStillServe = this.#serves(present, now) && present.left > 0; // smaller requests
    if (!this.#serves(next, now) || (mayStillServe && next.left < count)) {
      return undefined;
    }
    this.#retire();
    this.#next = undefined;
    this.#current = next;
    return next.left >= count ? next.take(count) : undefined;
  }

  /** Adds a block that was requested at a reading of the clock. */
  put(block: Block, asked: Reading, now: Reading): void {
    if (block.periodEndMs !== 0 && asked.wall >= block.periodEndMs) {
      this.#lenientUntil = now.mono + lenientMs; // the cluster's clock decides
    }
    const last = this.#next ?? this.#current;
    if (last?.append(block) === true) {
      return;
    }
    if (this.#next !== undefined) { // no room for a third block: a caller wants more numbers than the next one has
      this.#retire();
    }
    this.#next = new Stock(block);
  }

  /** Drops the blocks for which which returns true. */
  drop(which: (block: Block) => boolean): void {
    if (this.#current !== undefined && which(this.#current.last)) {
      this.#retire();
    }
    if (this.#next !== undefined && which(this.#next.last)) {
      this.#next = undefined;
    }
  }

  #retire(): void {
    this.#takenBefore = this.taken;
    this.#current = undefined;
  }

  /** Removes all blocks and returns the last one. */
  clear(): Stock | undefined {
    const last = this.#next ?? this.#current;
    this.#retire();
    this.#next = undefined;
    return last;
  }
}
