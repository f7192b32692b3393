import { performance } from "node:perf_hooks";
import type { Caller, CallOptions } from "./caller.js";
import { systemClock, type Clock } from "./clock.js";
import { runClockCheck } from "./clock_check.js";
import { checkAfter, checkCount, checkNames, closedError, invalid, own, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";
import { MemberGranter, type Granter } from "./granter.js";
import { Lane, type Outlook } from "./lane.js";
import { layoutOf, type Layout } from "./layout.js";
import { osRandom } from "./random.js";
import { hostName, thisProcess } from "./process.js";
import { rules } from "./rules.js";
import { setBack, unexpected, windowEnded } from "./refusals.js";
import { Bell, sleep, timeoutOf, within } from "./wait.js";
import { Watch } from "./watch.js";
import { object } from "./wire.js";

/** GeneratorOptions are the options of a {@link Generator}. */
export interface GeneratorOptions {
  /** Layout of the IDs; the default is "default". */
  layout?: string | undefined;
  /**
   * Stable name of this process, 1 to 125 bytes without spaces, shown to operators; the default is the host's name. It need
   * not be unique. A process that restarts with the same name acquires its former worker, if that is free.
   */
  holder?: string | undefined;
  /** Number of workers to lease, 1 to 64; the default is 1. IDs of different lanes are in no order. */
  lanes?: number | undefined;
  /** Source of time, for tests. */
  clock?: Clock | undefined;
}

/** FloorOptions are the options of a call that waits for IDs of a generator. */
export interface FloorOptions extends CallOptions {
  /** Each ID is greater than this one, which any process may have issued; 0, the default, is none. */
  after?: bigint | undefined;
}

/** LaneStatus is the state of a lane of a generator. */
export interface LaneStatus {
  readonly lane: number;
  readonly worker: bigint;
  readonly token: bigint;
  /** The window [fromTick, untilTick), in ticks of the layout. */
  readonly fromTick: number;
  readonly untilTick: number;
  /** Tick of the last ID; undefined if none was issued under this grant. */
  readonly lastTick: number | undefined;
}

/** GeneratorStatus is the state of a generator. */
export interface GeneratorStatus {
  /** Whether the generator could issue an ID within a tick. */
  readonly state: "issuing" | "refusing";
  /** Why it refuses; undefined while it issues. */
  readonly problem: SnowraftError | undefined;
  /** The workers that it holds. */
  readonly workers: readonly LaneStatus[];
}

const mostLanes = 64;
const layoutMs = 5_000;
const longestPauseMs = 500;
const readyPollMs = 20;
/** next waits for the clock by reading it repeatedly, for at most this long; it throws instead of a longer wait. */
const spinMs = 5;
const releaseMs = 5_000;

/**
 * Generator issues IDs in this process, synchronously from memory. The cluster leases it workers and grants it windows of time,
 * which it extends in the background, long before they end. It goes on without the cluster until its window ends.
 *
 * IDs are unique even if clocks are wrong. While this machine's clock cannot be trusted, because it is ahead of the members'
 * clocks or moved backwards, the generator issues nothing. With one lane, IDs strictly increase.
 */
export class Generator {
  readonly #caller: Caller;
  readonly #emit: EventSink;
  readonly #layoutName: string;
  readonly #holder: string;
  readonly #laneCount: number;
  readonly #wall: () => number;
  readonly #watch: Watch;
  readonly #granter: Granter;
  readonly #changed = new Bell();
  readonly #end = new Bell();
  readonly #running: Promise<unknown>;
  readonly #onClose: () => void;
  readonly #offSealed: () => void;
  #sealed = false;
  #layout: Layout | undefined;
  #lanes: readonly Lane[] = [];
  #at = 0; // lane that served last
  #problem: SnowraftError | undefined; // of the last request for the layout
  #cause: SnowraftError | undefined; // of its last try
  #warned = false;
  #closing: Promise<void> | undefined;

  /** @internal Use Client.generator. */
  constructor(caller: Caller, emit: EventSink, options: GeneratorOptions, onClose: () => void) {
    checkNames(options, ["layout", "holder", "lanes", "clock"]);
    this.#caller = caller;
    this.#emit = emit;
    this.#layoutName = options.layout ?? "default";
    this.#holder = options.holder ?? hostName();
    this.#laneCount = options.lanes ?? 1;
    checkCount(this.#laneCount, mostLanes, "lanes");
    const bytes = Buffer.byteLength(this.#holder);
    if (bytes < 1 || bytes > 125 || /\s/.test(this.#holder)) {
      throw invalid(`holder name of ${bytes} bytes: expected 1 to 125 bytes without spaces`);
    }
    const clock = options.clock;
    this.#wall = clock === undefined ? Date.now : () => Math.floor(clock.wall());
    this.#watch = new Watch(clock ?? systemClock);
    this.#granter = new MemberGranter(caller, osRandom(16), thisProcess("generator"));
    this.#onClose = onClose;
    this.#offSealed = caller.sealed.once(() => this.#seal());
    this.#running = this.#run();
    void runClockCheck(caller, this.#watch, this.#end);
  }

  /** Stops for good: the cluster may have granted the same windows twice. */
  #seal(): void {
    this.#sealed = true;
    for (const lane of this.#lanes) {
      lane.seal();
    }
    this.#end.ring();
    this.#changed.ring();
  }

  /** Whether the generator was closed or sealed. */
  get #over(): boolean {
    return this.#sealed || this.#closing !== undefined;
  }

  /** Takes the error of a try to get the layout. */
  #tried(error: SnowraftError, roundEnded: boolean): void {
    this.#cause = error;
    this.#changed.ring();
    if (roundEnded && !this.#warned && error.reason !== "CLOSED") {
      this.#warned = true;
      this.#emit({ type: "window", layout: this.#layoutName, lane: 0, error });
    }
  }

  /** Requests the layout until it has an answer, then runs the lanes until close. */
  async #run(): Promise<void> {
    for (let pause = 10; !this.#over; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        const answer = await this.#caller.call(rules.getLayout, {
          path: encodeURIComponent(this.#layoutName), onFailure: (error, roundEnded) => this.#tried(error, roundEnded),
        }, { timeoutMs: layoutMs });
        const layout = layoutOf(object(answer, "layout"));
        layout.checkIssues(Math.max(this.#watch.now().wall, layout.epochAtMs)); // a clock before the epoch may be corrected
        await this.#runLanes(layout);
        return;
      } catch (error) {
        this.#problem = SnowraftError.is(error) ? error : unexpected(error);
        this.#tried(this.#problem, true);
      }
      if (!this.#over) {
        await sleep(pause, [this.#end], true);
      }
    }
  }

  async #runLanes(layout: Layout): Promise<void> {
    const context = { layout, granter: this.#granter, watch: this.#watch, emit: this.#emit, changed: this.#changed };
    this.#layout = layout;
    this.#lanes = Array.from({ length: this.#laneCount }, (_, i) => new Lane(context, i, this.#holder));
    if (!this.#over) {
      await Promise.all(this.#lanes.map((lane) => lane.run()));
    }
  }

  /**
   * Returns one ID, from memory. It never awaits: if the clock has to reach the next tick, it reads the clock repeatedly for at
   * most 5 ms.
   *
   * @param after a floor: the ID is greater than this one, which any process may have issued. 0 is none.
   *
   * Throws a SnowraftError: WAIT if the clock has to run for longer, with retryAfterMs; WINDOW_ENDED without a window;
   * CLOCK_BEHIND and CLOCK_SKEW while the clock of this machine is wrong; WORKERS_EXHAUSTED, TIME_EXHAUSTED, UNKNOWN_LAYOUT,
   * PERMISSION_DENIED, SET_BACK and CLOSED; INVALID_ARGUMENT for a floor that no process can have issued.
   */
  next(after?: bigint): bigint {
    const wall = this.#wall();
    if (after === undefined && wall <= this.#watch.ceiling && wall >= this.#watch.floor) {
      const id = this.#lanes[this.#at]?.lease?.take(wall);
      if (id !== undefined) {
        return id;
      }
    }
    return this.#nextSlowly(floorOf(after));
  }

  #nextSlowly(after: bigint | undefined): bigint {
    const began = performance.now();
    for (;;) {
      const result = this.#try(after);
      if (typeof result === "bigint") {
        return result;
      }
      if ("error" in result) {
        throw own(result.error);
      }
      if (result.waitMs > spinMs || performance.now() - began > 2 * spinMs) {
        throw waiting(result.waitMs);
      }
      const wall = this.#wall();
      while (this.#wall() === wall && performance.now() - began <= 2 * spinMs); // the clock shows the next tick soon
    }
  }

  /** Takes one ID of any lane, greater than after, or returns what to expect. */
  #try(after: bigint | undefined): bigint | Outlook {
    if (this.#over) {
      return { error: this.#closing === undefined ? setBack() : closedError(), grant: false, inMs: 0 };
    }
    const [first] = this.#lanes;
    if (first === undefined) {
      return this.#missing();
    }
    const now = this.#watch.now();
    const wrong = first.checkClock(now);
    if (wrong !== undefined) {
      return { error: wrong, grant: false, inMs: 0 };
    }
    for (let k = 0; k < this.#lanes.length; k++) {
      const id = this.#lanes[this.#at]?.lease?.take(now.wall, after);
      if (id !== undefined) {
        return id;
      }
      this.#at = (this.#at + 1) % this.#lanes.length;
    }
    if (after !== undefined) {
      const error = first.checkFloor(after, now);
      if (error !== undefined) {
        return { error, grant: false, inMs: 0 };
      }
    }
    return this.#lanes.map((lane) => lane.outlook(now, after)).reduce(better);
  }

  /** Returns what to expect before the cluster has returned the layout. */
  #missing(): Outlook {
    const problem = this.#problem;
    if (problem !== undefined && isHopeless(problem)) {
      return { error: problem, grant: false, inMs: 0 };
    }
    return { error: windowEnded(undefined, this.#cause), grant: true, inMs: 0 };
  }

  /** Returns one ID as a decimal text. It throws as next does. */
  nextString(): string {
    return this.next().toString();
  }

  /** Returns one ID as a number, for layouts of at most 53 bits such as "jssafe". It throws as next does. */
  nextNumber(): number {
    const id = Number(this.next());
    if (this.#layout?.fitsNumber !== true) {
      throw invalid(`IDs of layout "${this.#layoutName}" have more than 53 bits; use next or nextString, or the layout jssafe`);
    }
    return id;
  }

  /**
   * Returns one ID, and waits where next throws WAIT or WINDOW_ENDED, for at most the time limit, by default that of the client.
   * It does not wait while the clock of this machine is wrong, nor if no window can be expected in time.
   */
  async nextAsync(options: FloorOptions = {}): Promise<bigint> {
    const after = floorOf(options.after);
    const deadline = performance.now() + timeoutOf(options, this.#caller.timeoutMs);
    for (;;) {
      const result = this.#try(after);
      if (typeof result === "bigint") {
        return result;
      }
      const left = deadline - performance.now();
      if ("error" in result) {
        if (!result.grant || left <= 0 || result.inMs > left) {
          throw own(result.error);
        }
        await sleep(Math.min(left, 200), [this.#changed]);
      } else {
        if (left <= 0) {
          throw waiting(result.waitMs);
        }
        await sleep(Math.min(left, result.waitMs), [this.#changed]);
      }
    }
  }

  /** Returns count IDs, 1 to 1,000,000. It waits and fails as nextAsync does. */
  async batch(count: number, options: FloorOptions = {}): Promise<bigint[]> {
    checkCount(count, 1_000_000, "IDs");
    const ids: bigint[] = [];
    while (ids.length < count) {
      ids.push(await this.nextAsync(options));
      try {
        while (ids.length < count) {
          ids.push(this.next(options.after));
        }
      } catch {
        // nextAsync waits, or throws the reason
      }
    }
    return ids;
  }

  /**
   * Waits until the generator can issue, for at most the time limit, by default that of the client. It fails at once if waiting
   * does not help, such as with UNKNOWN_LAYOUT and PERMISSION_DENIED, or if no address is that of a member; otherwise with the reason
   * when the time has passed.
   */
  async ready(options: CallOptions = {}): Promise<void> {
    const deadline = performance.now() + timeoutOf(options, this.#caller.timeoutMs);
    for (;;) {
      const problem = this.#readiness();
      const left = deadline - performance.now();
      if (problem === undefined) {
        return;
      }
      if (left <= 0 || isHopeless(problem)) {
        throw own(problem);
      }
      await sleep(Math.min(left, readyPollMs), [this.#changed]);
    }
  }

  #readiness(): SnowraftError | undefined {
    if (this.#over) {
      return this.#closing === undefined ? setBack() : closedError();
    }
    const [first] = this.#lanes;
    if (first === undefined) {
      const outlook = this.#missing();
      return "error" in outlook ? outlook.error : undefined;
    }
    const now = this.#watch.now();
    const problems = this.#lanes.map((lane) => lane.readiness(now));
    return first.checkClock(now) ?? (problems.includes(undefined) ? undefined : problems[0]);
  }

  /** Returns the state of the generator and its workers. */
  status(): GeneratorStatus {
    const problem = this.#readiness();
    const workers = this.#lanes.flatMap(({ lease }, lane) => lease === undefined || lease.closed ? [] : [{
      lane, worker: lease.worker, token: lease.token, fromTick: lease.fromTick, untilTick: lease.untilTick, lastTick: lease.lastTick,
    }]);
    return { state: problem === undefined ? "issuing" : "refusing", problem, workers };
  }

  /**
   * Stops issuing and releases the workers, so that other holders can acquire them at once. It rejects if a worker was not
   * released: that one becomes free after its window has passed.
   */
  async close(options: CallOptions = {}): Promise<void> {
    this.#closing ??= this.#close(timeoutOf(options, releaseMs));
    await this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    for (const lane of this.#lanes) {
      lane.stop();
    }
    this.#end.ring();
    this.#changed.ring();
    this.#offSealed();
    await within(this.#running, timeoutMs); // a request in progress may be granted
    await Promise.all(this.#lanes.map((lane) => lane.finish(timeoutMs)));
    this.#onClose();
    const [failed] = this.#lanes.flatMap((lane) => lane.unreleased);
    if (failed !== undefined) {
      throw failed;
    }
  }
}

/** floorOf returns a floor; undefined for none. */
function floorOf(after: bigint | undefined): bigint | undefined {
  if (after !== undefined) {
    checkAfter(after);
  }
  return after === 0n ? undefined : after;
}

const hopeless = new Set(["CLOSED", "SET_BACK", "UNKNOWN_LAYOUT", "TIME_EXHAUSTED", "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "PIN_MISMATCH"]);

/** isHopeless reports whether waiting does not help. A member that could not be reached, or is none, says so by retry. */
function isHopeless(problem: SnowraftError): boolean {
  return hopeless.has(problem.reason) || (problem.reason === "UNAVAILABLE" && !problem.retry);
}

function waiting(ms: number): SnowraftError {
  return new SnowraftError(`snowraft: the clock reaches the next tick that is free in ${ms} ms`, { reason: "WAIT", retryAfterMs: ms });
}

/** better returns the shorter wait for the clock, otherwise the window that can be expected sooner, otherwise an error. */
function better(a: Outlook, b: Outlook): Outlook {
  if ("waitMs" in a || "waitMs" in b) {
    return "waitMs" in a && (!("waitMs" in b) || a.waitMs <= b.waitMs) ? a : b;
  }
  return b.grant && (!a.grant || b.inMs < a.inMs) ? b : a;
}
