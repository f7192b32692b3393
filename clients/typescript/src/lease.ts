import type { Layout } from "./layout.js";
import { Packer, startsOf } from "./packer.js";

/** Grant is a window [fromTick, untilTick) on a worker. */
export interface Grant {
  readonly worker: bigint;
  /** Fencing token, greater than 0. */
  readonly token: bigint;
  readonly fromTick: number;
  readonly untilTick: number;
  /** Observed clock, Unix milliseconds. */
  readonly observedMs: number;
  /** The longest window that the cluster grants, in milliseconds; 0 if unknown. */
  readonly maxWindowMs: number;
}

/** Place says whether a lease can issue, or why it cannot. */
export type Place = "taken" | "early" | "ended" | "closed" | "exhausted" | "unreachable";

/** A lane issues at most this far ahead of the clock, when all earlier ticks are full. */
export const aheadMs = 5;

/**
 * Lease is a lane's hold on one worker, from the grant until it is closed. A cell is a (tick, sequence) of the worker.
 *
 * - The position, which is the next cell to issue, only grows.
 * - No cell at or after the end of the window is issued, whatever the clock shows.
 * - The end only grows, and is always that of a grant which this process received for this lease.
 */
export class Lease {
  readonly layout: Layout;
  readonly worker: bigint;
  readonly token: bigint;
  readonly fromTick: number;
  /** Most ticks that a cell may be ahead of the clock. */
  readonly ahead: number;
  untilTick: number;
  closed = false;

  readonly #epoch: number;
  readonly #unit: number;
  readonly #ticks: number;
  readonly #sequences: number;
  readonly #sequenceShift: bigint;
  readonly #packer: Packer;
  readonly #startOf: (tick: number) => number;
  readonly #firstTick: number;
  readonly #firstSequence: number;
  #tick: number; // position
  #sequence: number;

  /** The lease issues no tick before firstTick. */
  constructor(layout: Layout, grant: Grant, firstTick: number) {
    this.layout = layout;
    this.worker = grant.worker;
    this.token = grant.token;
    this.fromTick = grant.fromTick;
    this.untilTick = grant.untilTick;
    this.#epoch = layout.epochAtMs;
    this.#unit = layout.unitMs;
    this.#ticks = Math.min(Number(layout.ticks), Number.MAX_SAFE_INTEGER);
    this.#sequences = Math.min(Number(layout.sequences), Number.MAX_SAFE_INTEGER);
    this.#sequenceShift = BigInt(layout.span("sequence").shift);
    this.ahead = Math.floor(aheadMs / layout.unitMs);
    this.#packer = new Packer(layout, grant.worker);
    this.#startOf = startsOf(layout);
    this.#firstTick = Math.max(grant.fromTick, firstTick);
    // 0 is never issued, because as a floor it means none.
    this.#firstSequence = this.#packer.id(this.#firstTick, 0) === 0n ? 1 : 0;
    this.#tick = this.#firstTick;
    this.#sequence = this.#firstSequence;
  }

  /** Returns an ID at a time of the wall clock in Unix milliseconds, greater than after; undefined if none can be issued. */
  take(wall: number, after?: bigint): bigint | undefined {
    const tick = this.#unit === 1 ? wall - this.#epoch : Math.floor((wall - this.#epoch) / this.#unit);
    if (after === undefined && tick === this.#tick && tick < this.untilTick && !this.closed && !this.#isFirst()) {
      return this.#issue(); // the usual case under load: place, reduced to it
    }
    if (this.place(tick, after) !== "taken") {
      return undefined;
    }
    this.#tick = this.nextTick;
    this.#sequence = this.#nextSequence;
    return this.#issue();
  }

  /** Issues the cell at the position. */
  #issue(): bigint {
    const id = this.#packer.id(this.#tick, this.#sequence);
    if (++this.#sequence === this.#sequences) {
      this.#tick++;
      this.#sequence = 0;
    }
    return id;
  }

  /** The tick of the cell that the last call of place found. */
  nextTick = 0;
  #nextSequence = 0;

  /**
   * Finds the next cell to issue while the clock is at a tick, of an ID greater than after, and says whether it can be issued. Issues
   * none.
   */
  place(tick: number, after?: bigint): Place {
    if (this.closed) {
      return "closed";
    }
    this.nextTick = this.#tick;
    this.#nextSequence = this.#sequence;
    if (tick >= this.#ticks) {
      return "exhausted";
    }
    if (tick < 0) {
      return "early"; // the clock is before the epoch
    }
    if (this.#tick < tick) {
      this.nextTick = tick;
      this.#nextSequence = this.#startOf(tick);
    } else if (this.#tick === tick && this.#isFirst()) {
      this.#nextSequence = Math.max(this.#sequence, this.#startOf(tick));
    }
    if (after !== undefined && this.nextTick < Math.min(tick + this.ahead + 1, this.#ticks) &&
        this.#packer.id(this.nextTick, this.#nextSequence) <= after && !this.#rise(after)) {
      return "unreachable";
    }
    if (this.nextTick > tick + this.ahead || this.nextTick >= this.#ticks) {
      return this.nextTick >= this.#ticks ? "exhausted" : "early";
    }
    return this.nextTick >= this.untilTick ? "ended" : "taken";
  }

  /** Moves the cell that place found to the first one of an ID greater than after; false if the layout has none. */
  #rise(after: bigint): boolean {
    if (after >> BigInt(this.layout.bits) !== 0n) {
      return false;
    }
    this.nextTick = Number(this.layout.decode(after).tick);
    const above = after - this.#packer.id(this.nextTick, 0);
    this.#nextSequence = above < 0n ? 0 : Number(above >> this.#sequenceShift) + 1;
    if (this.#nextSequence >= this.#sequences) {
      this.nextTick++;
      this.#nextSequence = 0;
    }
    return this.nextTick < this.#ticks;
  }

  #isFirst(): boolean {
    return this.#tick === this.#firstTick && this.#sequence === this.#firstSequence;
  }

  /** Whether any ID was issued. */
  get issued(): boolean {
    return !this.#isFirst();
  }

  /** The tick of the last ID; undefined if none was issued. */
  get lastTick(): number | undefined {
    if (!this.issued) {
      return undefined;
    }
    return this.#sequence > 0 ? this.#tick : this.#tick - 1;
  }

  /** The first tick in which nothing was issued and, once the lease is closed, never will be. */
  get unusedTick(): number {
    return this.lastTick === undefined ? this.fromTick : this.lastTick + 1;
  }

  /** The tick of the next cell, wherever the clock is. */
  get tick(): number {
    return this.#tick;
  }

  /** Whether all cells of the window are used. */
  get usedUp(): boolean {
    return this.#tick >= this.untilTick;
  }

  /** Whether the window reaches the end of the layout. */
  get isLast(): boolean {
    return this.untilTick >= this.#ticks;
  }

  /** Returns the tick at a time of the wall clock. */
  tickAt(wall: number): number {
    return Math.floor((wall - this.#epoch) / this.#unit);
  }

  /** Returns the start of a tick in Unix milliseconds. */
  millisAt(tick: number): number {
    return this.#epoch + tick * this.#unit;
  }

  /** Whether a tick is so far ahead of a clock that the clock must have moved backwards. */
  isBehind(tick: number, wall: number, thresholdMs: number): boolean {
    return tick - this.tickAt(wall) > this.ahead + 1 && this.millisAt(tick) - wall > thresholdMs;
  }

  /** The time until a tick is no longer too far ahead of a clock, in milliseconds. */
  dueMs(tick: number, wall: number): number {
    return this.millisAt(tick - this.ahead) - wall;
  }
}
