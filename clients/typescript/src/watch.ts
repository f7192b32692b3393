import { read, type Reading, type SuspendableClock } from "./clock.js";
import { SnowraftError } from "./errors.js";

/** Limits holds the greatest errors of a clock that are tolerated. */
export interface Limits {
  /** The greatest time by which the clock may be behind the observed clock, in milliseconds. */
  readonly waitThresholdMs: number;
  /** The greatest time by which the clock may be ahead of the members', in milliseconds. */
  readonly maxOffsetMs: number;
  /** Permits issuing while the clock is behind (rollback policy "swap"). */
  readonly swap: boolean;
}

/** The time for which a member's answer counts. */
const peerMaxAgeMs = 30_000;
/** The greatest difference between two readings of the clocks that is not a suspension. */
const suspendNoiseMs = 100;

/**
 * Watch compares this process's clock with those of members, with the observed clock and with its own past.
 *
 * Every clock is held as its base, wall - mono in this process's monotonic time. A base stays the same while its clock runs
 * correctly, so a jump of the own clock shows without an answer of a member. Whoever issues IDs compares the wall clock with
 * ceiling and floor; only check, when these are passed, and the renewal read the monotonic clock.
 */
export class Watch {
  /** The wall clock above which check must decide. */
  ceiling = 0;
  /** The wall clock below which check must decide. */
  floor = -Infinity;
  /** The observed clock in Unix milliseconds; 0 until it is known. */
  observed = 0;
  limits: Limits = { waitThresholdMs: 1_000, maxOffsetMs: 500, swap: false };

  readonly #clock: SuspendableClock;
  readonly #peers = new Map<string, { base: number; mono: number }>();
  #observedBase = 0; // observed - mono
  #reference: number; // the base that the own clock should have
  #own: number; // own base at the last update
  #asleep: number | undefined; // time of all suspensions until the last update
  #agreed = false; // the own clock agreed with a member's once
  #settled = false; // a member has answered
  #disputed = false; // the only other clock contradicts the own one

  constructor(clock: SuspendableClock) {
    this.#clock = clock;
    const now = this.now();
    this.#own = this.#reference = now.wall - now.mono;
    this.#asleep = clock.suspended?.();
    this.#bound(now);
  }

  /** Reads the clock. */
  now(): Reading {
    return read(this.#clock);
  }

  setLimits(limits: Limits): void {
    this.limits = limits;
    this.#bound(this.now());
  }

  #bound(now: Reading): void {
    this.ceiling = this.#reference + now.mono + this.limits.maxOffsetMs;
    this.floor = this.observed - this.limits.waitThresholdMs;
  }

  /** Whether a member has answered, and the clocks of members do not contradict this one. */
  get trusted(): boolean {
    const now = this.now();
    return this.#settled && !this.#disputed && Math.abs(now.wall - now.mono - this.#reference) <= this.limits.maxOffsetMs;
  }

  /** Returns the reason why no ID may be issued at this reading; undefined if one may. */
  check(now: Reading): SnowraftError | undefined {
    this.#bound(now);
    if (now.wall > this.ceiling) {
      return skewed(now.wall - now.mono - this.#reference, this.limits.maxOffsetMs);
    }
    if (now.wall < this.floor && !this.limits.swap) {
      return behind(this.observed - now.wall, this.limits.waitThresholdMs);
    }
    return undefined;
  }

  /** Sets the observed clock to the value that a member reported. It may be lower than before: an operator can lower it. */
  observe(millis: number): void {
    if (millis > 0) {
      this.#wake();
      const now = this.now();
      this.#observedBase = millis - now.mono;
      this.observed = millis;
      this.#bound(now);
    }
  }

  /** Notes a member's clock, which the member read half of the round-trip time ago. */
  observePeer(id: string, wall: number, tookMs: number): void {
    this.#wake();
    const { mono } = this.now();
    this.#peers.set(id, { base: wall + Math.floor(tookMs / 2) - mono, mono });
    this.update();
  }

  /** Moves the observed clock forward by the monotonic clock, and compares the clocks. Call it about once per second. */
  advance(): void {
    this.#wake();
    if (this.observed !== 0) {
      this.observed = this.#observedBase + this.now().mono;
    }
    this.update();
  }

  /**
   * Recomputes the base that the own clock should have. Without a member's answer, it follows slow corrections of the own
   * clock, but no jump. With answers of several members, the base is the median of all clocks.
   */
  update(): void {
    this.#wake();
    const now = this.now();
    const own = now.wall - now.mono;
    const others: number[] = [];
    for (const [id, peer] of this.#peers) {
      if (now.mono - peer.mono > peerMaxAgeMs) {
        this.#peers.delete(id);
      } else {
        others.push(peer.base);
      }
    }
    const bases = [own, ...others].sort((a, b) => a - b);
    const moved = own - this.#own;
    this.#own = own;
    let disputed = false;
    const middle = Math.floor(bases.length / 2);
    if (bases.length === 1) {
      if (Math.abs(moved) <= Math.floor(this.limits.maxOffsetMs / 2)) {
        this.#reference += moved;
      }
    } else if (bases.length === 2) {
      disputed = this.#settle(own, others[0] as number, now.mono);
    } else if (bases.length % 2 === 1) {
      this.#reference = bases[middle] as number;
    } else {
      const [low, high] = bases.slice(middle - 1, middle + 1) as [number, number];
      this.#reference = Math.abs(low - this.#reference) <= Math.abs(high - this.#reference) ? low : high;
    }
    if (bases.length > 1) {
      this.#settled = true;
      this.#agreed ||= !disputed && Math.abs(own - this.#reference) <= this.limits.maxOffsetMs;
    }
    this.#disputed = disputed;
    this.#bound(now);
  }

  /** Notes a suspension of the machine: the monotonic clock stood still, and every other clock continued. */
  #wake(): void {
    const asleep = this.#clock.suspended?.();
    if (asleep === undefined) {
      return;
    }
    const slept = Math.round(asleep - (this.#asleep ??= asleep));
    if (slept <= suspendNoiseMs) {
      return;
    }
    this.#asleep = asleep;
    this.#own += slept;
    this.#reference += slept;
    this.#observedBase += slept;
    for (const peer of this.#peers.values()) {
      peer.base += slept;
    }
  }

  /**
   * Decides between the own clock and that of the only member that answered, and reports whether nothing shows which of the two
   * is wrong. A clock that is behind the observed clock is wrong. Otherwise a process recognizes its own jump from its past; one
   * that never agreed with a member yields if it is ahead.
   */
  #settle(own: number, other: number, mono: number): boolean {
    const limit = this.limits.maxOffsetMs;
    if (Math.abs(own - other) <= limit) {
      this.#reference = own;
      return false;
    }
    const oldest = this.observed - this.limits.waitThresholdMs;
    const ownBehind = own + mono < oldest;
    const otherBehind = other + mono < oldest;
    if (ownBehind && !otherBehind) {
      this.#reference = other;
      return false;
    }
    if (!ownBehind && !otherBehind && !this.#agreed && own > other) {
      this.#reference = other;
      return true;
    }
    if (otherBehind && !ownBehind && Math.abs(own - this.#reference) <= limit) {
      this.#reference = own;
      return false;
    }
    return true;
  }
}

function skewed(aheadMs: number, limitMs: number): SnowraftError {
  return new SnowraftError(
    `snowraft: this clock is ${aheadMs} ms ahead of the majority's, limit ${limitMs} ms; ` +
      "correct the clock, or those of the members if this one is correct",
    { reason: "CLOCK_SKEW", metadata: { ahead_ms: `${aheadMs}`, limit_ms: `${limitMs}` } },
  );
}

/** behind returns the error of a clock that is behind by more than the limit. */
export function behind(behindMs: number, limitMs: number): SnowraftError {
  return new SnowraftError(
    `snowraft: this clock is ${behindMs} ms behind, limit ${limitMs} ms; correct the clock, or wait until it has caught up`,
    {
      reason: "CLOCK_BEHIND", retryAfterMs: Math.max(1, behindMs - limitMs),
      metadata: { behind_ms: `${behindMs}`, limit_ms: `${limitMs}` },
    },
  );
}
