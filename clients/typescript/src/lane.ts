import type { Reading } from "./clock.js";
import { closedError, invalid, SnowraftError } from "./errors.js";
import type { EventSink, WorkerChange } from "./events.js";
import type { Granter } from "./granter.js";
import type { Layout } from "./layout.js";
import { aheadMs, Lease, type Grant } from "./lease.js";
import { delayed, impossible, lastsMs, plain, specific, timeExhausted, tooShort, unexpected, unreachable, windowEnded } from "./refusals.js";
import { drawExtension } from "./random.js";
import { Bell, sleep } from "./wait.js";
import { behind, type Watch } from "./watch.js";
import { backoffMs, firstWindowMs, maxBackoffMs, SlowStart } from "./window.js";

/** The interval at which a lane checks whether its clock is correct again. */
const clockPollMs = 100;
/** The longest interval between requests for a worker while none is free. */
const exhaustedPollMs = 3_000;
/** The time limit for the release of a worker that the lane left, while callers may wait for the next one. */
const courtesyMs = 500;
/** The pause between extensions that fail is at most the rest of the window divided by this. */
const patience = 16;

/** Pause is the time until the next step. A kick cuts it short if it is kickable. */
export interface Pause {
  readonly ms: number;
  readonly kickable: boolean;
}

/** Outlook is what a lane that issues nothing now promises: the time to wait for the clock, or an error. */
export type Outlook =
  | { readonly waitMs: number }
  /** grant: a window would help; inMs: none can be expected before. */
  | { readonly error: SnowraftError; readonly grant: boolean; readonly inMs: number };

/** LaneContext is what the lanes of a generator share. */
export interface LaneContext {
  readonly layout: Layout;
  readonly granter: Granter;
  readonly watch: Watch;
  readonly emit: EventSink;
  /** Rings when a lease, its window or a lane's problem changes. */
  readonly changed: Bell;
}

/** Lane holds one worker and keeps its window ahead of the clock. */
export class Lane {
  /** The lease that issues; undefined between two leases. */
  lease: Lease | undefined;
  /** Why the window is not ahead of the clock; undefined if it is. */
  problem: SnowraftError | undefined;
  /** Errors of releases, for close. */
  readonly unreleased: SnowraftError[] = [];

  readonly #context: LaneContext;
  readonly #index: number;
  readonly #holder: string;
  readonly #kick = new Bell();
  readonly #end = new Bell();
  readonly #window = new SlowStart();
  #stopped = false;
  #sealed = false;
  #extendAt = 0; // monotonic
  #failures = 0;
  #floor = 0; // the next lease starts at this tick or later
  /** The lease whose window the cluster refused. It serves until the next one opens, and is never released. */
  #lost: Lease | undefined;
  #swapped: Lease | undefined; // closed, and not released yet
  #extension = ""; // ID of the extension whose outcome is unknown; empty if none
  #endedAt: number | undefined; // end of the last window, Unix milliseconds

  constructor(context: LaneContext, index: number, holder: string) {
    this.#context = context;
    this.#index = index;
    this.#holder = `${holder}/${index}`;
  }

  /** Keeps a window until stop. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const pause = await this.step();
      if (!this.#stopped) {
        await sleep(pause.ms, pause.kickable ? [this.#end, this.#kick] : [this.#end], true);
      }
    }
  }

  /** Makes the lane check at once whether its lease still serves. */
  kick(): void {
    this.#kick.ring();
  }

  /** Makes the next extension due now. */
  hasten(): void {
    this.#extendAt = -Infinity;
  }

  /** Checks clock and lease, and does the one thing that is due. It may be called at any time, in any order. */
  async step(): Promise<Pause> {
    const { watch } = this.#context;
    const now = watch.now();
    const wrong = this.checkClock(now);
    if (wrong !== undefined) {
      return this.#hold(wrong);
    }
    const held = this.lease;
    if (held === undefined || held === this.#lost) {
      return this.#acquire(now);
    }
    if (held.isBehind(held.tick, now.wall, watch.limits.waitThresholdMs)) {
      if (!watch.limits.swap) {
        return this.#hold(behind(held.millisAt(held.tick) - now.wall, watch.limits.waitThresholdMs));
      }
      return this.#swap(held);
    }
    if (held.isLast) {
      this.#report(undefined);
      return { ms: maxBackoffMs, kickable: true };
    }
    if (now.mono < this.#extendAt && !this.#hasEnded(held, now)) {
      this.#report(undefined);
      return { ms: this.#extendAt - now.mono, kickable: true };
    }
    return this.#extend(held, now);
  }

  /** Returns the reason why nothing may be issued or requested at a reading of the clock. */
  checkClock(now: Reading): SnowraftError | undefined {
    const { watch, layout } = this.#context;
    const wrong = watch.check(now);
    if (wrong !== undefined) {
      return wrong;
    }
    const tick = Math.floor((now.wall - layout.epochAtMs) / layout.unitMs);
    if (tick < 0) {
      return behind(layout.epochAtMs - now.wall, watch.limits.waitThresholdMs);
    }
    return BigInt(tick) >= layout.ticks ? timeExhausted() : undefined;
  }

  /**
   * Returns the error of a floor that no process can have issued; undefined if one can. A clock that is not trusted may itself be far
   * behind the floor.
   */
  checkFloor(after: bigint, now: Reading): SnowraftError | undefined {
    const { watch, layout } = this.#context;
    if (after >> BigInt(layout.bits) !== 0n) {
      return unreachable(layout, after);
    }
    const { limits, observed } = watch;
    const tick = Number(layout.decode(after).tick);
    const at = layout.epochAtMs + tick * layout.unitMs;
    const limit = limits.waitThresholdMs + limits.maxOffsetMs + aheadMs;
    const ticks = tick - Math.floor((now.wall - layout.epochAtMs) / layout.unitMs);
    if (at - Math.max(now.wall, observed) <= limit || ticks <= 1 + Math.floor(aheadMs / layout.unitMs)) {
      return undefined;
    }
    if (!watch.trusted) {
      return behind(at - now.wall, limits.waitThresholdMs);
    }
    return invalid(`after ${after} is ${at - now.wall} ms ahead of this clock, limit ${limit} ms; send an ID that was issued`);
  }

  /** Whether the next cell at this time of the clock lies beyond the window. */
  #hasEnded(held: Lease, now: Reading): boolean {
    return held.tickAt(now.wall) + (held.usedUp ? held.ahead : 0) >= held.untilTick;
  }

  async #acquire(now: Reading): Promise<Pause> {
    const { granter, layout } = this.#context;
    let grant: Grant;
    try {
      grant = await granter.acquire(layout.name, this.#holder, now.wall, firstWindowMs);
      if (!this.#isPlausible(grant)) {
        throw impossible(grant);
      }
    } catch (error) {
      return this.#failed(error, now);
    }
    await this.#open(grant);
    return { ms: 0, kickable: false };
  }

  /** Whether a grant is possible. Accepting a wrong one could repeat IDs; ignoring a right one only discards a window. */
  #isPlausible(grant: Grant): boolean {
    const { layout } = this.#context;
    return grant.worker < layout.workers && grant.token > 0n && grant.fromTick >= 0 && grant.fromTick < grant.untilTick &&
      BigInt(grant.untilTick) <= layout.ticks;
  }

  async #open(grant: Grant): Promise<void> {
    const { watch, layout, changed } = this.#context;
    watch.observe(grant.observedMs);
    const now = watch.now();
    if (this.#lost !== undefined) {
      this.#close(this.#lost);
    }
    let first = this.#floor;
    // Wait once until the clock has passed the observed clock at the grant: a process that has just started does not know it yet.
    const observed = Math.max(watch.observed, grant.observedMs);
    if (observed - now.wall <= watch.limits.waitThresholdMs) {
      first = Math.max(first, Math.floor((observed - layout.epochAtMs) / layout.unitMs) + 1);
    }
    let held = new Lease(layout, grant, first);
    if (watch.limits.swap && held.isBehind(held.tick, now.wall, watch.limits.waitThresholdMs)) {
      held = new Lease(layout, grant, 0); // the clock moved backwards in between
    }
    this.#window.begin(grant.maxWindowMs);
    this.#schedule(held, now);
    this.#extension = "";
    this.#lost = undefined;
    held.closed = this.#stopped;
    this.lease = held;
    this.#endedAt = held.millisAt(held.untilTick);
    this.problem = undefined;
    changed.ring();
    this.#emit("acquired", held);
    const swapped = this.#swapped;
    this.#swapped = undefined;
    if (swapped !== undefined) {
      await this.#release(swapped, courtesyMs);
    }
  }

  /**
   * Moves the end of the window. An extension whose outcome is unknown is repeated under its ID: if it was granted, the
   * repetition returns its window. If the cluster refuses the window as another holder's, the rest of it stays good.
   */
  async #extend(held: Lease, now: Reading): Promise<Pause> {
    const { granter, watch, changed } = this.#context;
    const repeated = this.#extension !== "";
    if (!repeated) {
      this.#extension = drawExtension();
    }
    let grant: Grant;
    try {
      grant = await granter.extend(this.#claim(held), this.#extension, now.wall, this.#window.coming);
      if (!this.#isPlausible(grant) || grant.worker !== held.worker || grant.token !== held.token || grant.untilTick < held.untilTick) {
        throw impossible(grant);
      }
    } catch (error) {
      if (SnowraftError.is(error) && error.reason === "WINDOW_MISMATCH") {
        this.#lost = held;
        this.#emit("lost", held);
        return { ms: 0, kickable: false };
      }
      return this.#failed(error, now);
    }
    this.#extension = "";
    held.untilTick = grant.untilTick;
    this.#endedAt = held.millisAt(held.untilTick);
    if (held.closed) {
      return { ms: 0, kickable: false }; // sealed or stopped during the request
    }
    watch.observe(grant.observedMs);
    this.#window.extended(grant.maxWindowMs);
    const after = watch.now();
    if (this.#hasEnded(held, after)) {
      return repeated ? { ms: 0, kickable: false } : this.#failed(tooShort(), now);
    }
    this.#schedule(held, after);
    this.problem = undefined;
    changed.ring();
    this.#emit("extended", held);
    return { ms: 0, kickable: false };
  }

  #claim(held: Lease): { layout: string; worker: bigint; token: bigint; untilTick: number } {
    return { layout: this.#context.layout.name, worker: held.worker, token: held.token, untilTick: held.untilTick };
  }

  /** Sets the time of the next extension, on the monotonic clock, because the wall clock may jump. */
  #schedule(held: Lease, now: Reading): void {
    this.#failures = 0;
    this.#extendAt = now.mono + this.#window.extendAfterMs(held.millisAt(held.untilTick) - now.wall);
  }

  /** Leaves a worker whose position is ahead of the clock. The lane continues on another one, at the present clock. */
  #swap(held: Lease): Pause {
    this.#close(held);
    this.lease = undefined;
    this.problem = undefined;
    this.#floor = 0;
    this.#swapped = held;
    this.#context.changed.ring();
    this.#emit("lost", held);
    if (held.issued) {
      return { ms: 0, kickable: false };
    }
    this.#failures++; // the clock is behind the start of a window that was granted just now
    return { ms: backoffMs(this.#failures, maxBackoffMs), kickable: false };
  }

  /** Closes a lease. The next one begins after the last tick that it used. */
  #close(held: Lease): void {
    held.closed = true;
    if (held.issued) {
      this.#floor = held.unusedTick;
    }
  }

  /**
   * Stops at once, because the cluster was set back in time and may have granted the same window twice. The worker is never
   * released.
   */
  seal(): void {
    this.stop();
    if (this.lease !== undefined) {
      this.#emit("lost", this.lease);
    }
    this.lease = undefined;
    this.#sealed = true;
  }

  #hold(problem: SnowraftError): Pause {
    this.#report(problem);
    return { ms: clockPollMs, kickable: false };
  }

  /** Reports a failed request, and returns the pause after it. */
  #failed(error: unknown, began: Reading): Pause {
    const { watch, layout, emit } = this.#context;
    const now = watch.now();
    const problem = delayed(SnowraftError.is(error) ? error : unexpected(error), now.mono - began.mono);
    this.#failures++;
    if (this.#failures === 1 && problem.reason !== "CLOSED") {
      emit({ type: "window", layout: layout.name, lane: this.#index, error: problem });
    }
    this.#report(problem);
    this.#window.failed();
    let most = maxBackoffMs;
    const held = this.lease;
    if (held !== undefined && held !== this.#lost) {
      most = Math.max(most, Math.min(held.millisAt(held.untilTick) - now.wall, this.#window.current) / patience);
    }
    let ms = backoffMs(this.#failures, most);
    const retryAt = Number(problem.metadata["retry_at_ms"] ?? 0);
    if (retryAt > 0) {
      ms = Math.max(ms, Math.min(retryAt - now.wall + backoffMs(1, maxBackoffMs), exhaustedPollMs));
    }
    return { ms, kickable: most > maxBackoffMs };
  }

  #report(problem: SnowraftError | undefined): void {
    const changed = this.problem !== undefined || problem !== undefined;
    this.problem = problem;
    if (changed) {
      this.#context.changed.ring();
    }
  }

  /** Returns what a caller can expect that gets no ID greater than after at this reading of the clock. */
  outlook(now: Reading, after?: bigint): Outlook {
    if (this.#stopped) {
      return { error: closedError(), grant: false, inMs: 0 };
    }
    const { watch } = this.#context;
    const held = this.lease;
    if (held === undefined || held.closed) {
      return this.#missing(now);
    }
    switch (held.place(held.tickAt(now.wall), after)) {
      case "taken":
        return { waitMs: 1 };
      case "early": {
        const tick = held.nextTick;
        if (!held.isBehind(tick, now.wall, watch.limits.waitThresholdMs)) {
          return { waitMs: held.dueMs(tick, now.wall) };
        }
        const swaps = watch.limits.swap && after === undefined; // the floor is ahead of the clock, on each worker
        if (swaps) {
          this.kick();
        }
        return { error: behind(held.millisAt(tick) - now.wall, watch.limits.waitThresholdMs), grant: swaps, inMs: 0 };
      }
      case "exhausted":
        return { error: timeExhausted(), grant: false, inMs: 0 };
      case "unreachable":
        return { error: unreachable(held.layout, after ?? 0n), grant: false, inMs: 0 };
      default:
        this.kick();
        return this.#missing(now);
    }
  }

  #missing(now: Reading): Outlook {
    const problem = this.problem;
    if (problem !== undefined && specific.has(problem.reason)) {
      return { error: problem, grant: true, inMs: lastsMs(problem, now.wall) };
    }
    return { error: windowEnded(this.#endedAt, problem), grant: true, inMs: 0 };
  }

  /** Returns the reason why the lane could not issue within a tick; undefined if it could. */
  readiness(now: Reading): SnowraftError | undefined {
    const held = this.lease;
    if (held !== undefined && !held.closed) {
      const tick = held.tickAt(now.wall);
      const place = held.place(tick);
      if (place === "taken" || (place === "early" && held.nextTick - tick <= held.ahead + 1)) {
        return undefined;
      }
      if (place === "early") {
        return behind(held.millisAt(held.nextTick) - now.wall, this.#context.watch.limits.waitThresholdMs);
      }
    }
    const outlook = this.outlook(now);
    return "error" in outlook ? outlook.error : undefined;
  }

  /** Stops issuing. A request that has begun continues. */
  stop(): void {
    this.#stopped = true;
    if (this.lease !== undefined) {
      this.lease.closed = true;
    }
    this.#end.ring();
  }

  /** Releases the workers, once run has ended. */
  async finish(timeoutMs: number): Promise<void> {
    for (const held of [this.lease, this.#swapped]) {
      if (held !== undefined && held !== this.#lost && !this.#sealed) {
        await this.#release(held, timeoutMs);
      }
    }
  }

  async #release(held: Lease, timeoutMs: number): Promise<void> {
    try {
      await this.#context.granter.release(this.#claim(held), held.unusedTick, timeoutMs);
      this.#emit("released", held);
    } catch (error) {
      if (SnowraftError.is(error) && error.reason === "WINDOW_MISMATCH") {
        this.#emit("lost", held); // the cluster no longer holds it for this lane
        return;
      }
      this.unreleased.push(new SnowraftError(
        `snowraft: worker ${held.worker} not released; it becomes free when its window ends: ${plain(error)}`,
        { reason: SnowraftError.is(error) ? error.reason : "INTERNAL", retry: false },
      ));
    }
  }

  #emit(change: WorkerChange, held: Lease): void {
    const { emit, layout } = this.#context;
    emit({ type: "worker", change, layout: layout.name, lane: this.#index, worker: held.worker, untilTick: held.untilTick });
  }
}
