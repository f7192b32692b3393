import { performance } from "node:perf_hooks";
import type { CallOptions } from "./caller.js";
import { own, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";

/** The greatest number of requests in flight that are not overdue: one that a member works on, and one on its way. */
const window = 2;
/** The time after which a request without an answer no longer counts for the window. */
const overdueMs = 5;
const mostInFlight = 64;
/** A caller waits for at most this much longer than its time limit, to share that of others. */
const similarMs = 50;
/** The greatest count of a shared request of one caller: a greater one would delay the others. */
const mostShared = 1_000;

/** Cohort is callers of a batch with similar time limits. They wait for one promise, which costs less than one for each. */
class Cohort<A> {
  readonly answer: Promise<A>;
  readonly first: number; // deadline of the first caller, and the earliest one
  deadline: number; // the latest one
  resolve!: (answer: A) => void;
  reject!: (error: unknown) => void;

  constructor(deadline: number) {
    this.first = this.deadline = deadline;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** Batch is a shared request and those that wait for its answer. */
class Batch<A> {
  readonly cohorts: Cohort<A>[] = [];
  callers = 0;
  count = 0;
  deadline = 0;

  /** Adds a caller and returns its cohort. */
  join(count: number, deadline: number): Cohort<A> {
    this.callers++;
    this.count += count;
    this.deadline = Math.max(this.deadline, deadline);
    for (const cohort of this.cohorts) {
      if (deadline >= cohort.first && deadline < cohort.first + similarMs) {
        cohort.deadline = Math.max(cohort.deadline, deadline);
        return cohort;
      }
    }
    const cohort = new Cohort<A>(deadline);
    this.cohorts.push(cohort);
    return cohort;
  }
}

/**
 * Coalescer combines the requests of concurrent callers. A request begins after the calls of all callers that it serves, and each
 * part of an answer goes to one of them. While two requests are in flight, further callers wait together for the next one.
 */
export class Coalescer<A> {
  readonly #fetch: (count: number, timeoutMs: number) => Promise<A>;
  readonly #divides: (error: unknown) => boolean;
  readonly #timeoutMs: number;
  readonly #emit: EventSink;
  readonly #mostCount: number;
  #open: Batch<A> | undefined;
  #inFlight = 0;
  readonly #fresh = new Set<Batch<A>>(); // in flight and not overdue
  #scheduled = false;

  /** divides reports whether an error of a shared request need not apply to each of its callers: then each makes a call of its own. */
  constructor(
    fetch: (count: number, timeoutMs: number) => Promise<A>, divides: (error: unknown) => boolean, timeoutMs: number, emit: EventSink,
    mostCount: number,
  ) {
    this.#fetch = fetch;
    this.#divides = divides;
    this.#timeoutMs = timeoutMs;
    this.#emit = emit;
    this.#mostCount = mostCount;
  }

  /** Requests count items, and returns the part of an answer that has them from offset on. */
  async take<P>(count: number, options: CallOptions, part: (answer: A, offset: number, count: number) => P): Promise<P> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    if (count > mostShared) {
      return part(await this.#fetch(count, timeoutMs), 0, count);
    }
    const deadline = performance.now() + timeoutMs;
    if (this.#open !== undefined && this.#open.count + count > this.#mostCount) {
      this.#begin();
    }
    const batch = (this.#open ??= new Batch());
    const offset = batch.count;
    const cohort = batch.join(count, deadline);
    this.#schedule();
    try {
      return part(await cohort.answer, offset, count);
    } catch (error) {
      if (batch.callers > 1 && this.#divides(error)) {
        return part(await this.#fetch(count, deadline - performance.now()), 0, count);
      }
      throw own(error);
    }
  }

  /** Begins the open batch once all callers that run now have joined. */
  #schedule(): void {
    if (!this.#scheduled && this.#mayBegin()) {
      this.#scheduled = true;
      process.nextTick(() => {
        this.#scheduled = false;
        if (this.#mayBegin()) {
          this.#begin();
        }
      });
    }
  }

  /**
   * Whether the open batch may begin now. A second request serves as many callers as the first: otherwise the callers of a small
   * request would begin another small one after each answer, and never join the others.
   */
  #mayBegin(): boolean {
    const [first] = this.#fresh;
    return this.#open !== undefined && this.#inFlight < mostInFlight && this.#fresh.size < window &&
      (first === undefined || this.#open.callers >= first.callers);
  }

  #begin(): void {
    const batch = this.#open as Batch<A>;
    this.#open = undefined;
    this.#inFlight++;
    this.#fresh.add(batch);
    const timer = setTimeout(() => {
      this.#fresh.delete(batch);
      this.#schedule();
    }, overdueMs);
    const impatient = batch.cohorts.filter((cohort) => cohort.deadline < batch.deadline)
      .map((cohort) => setTimeout(() => cohort.reject(late()), cohort.deadline - performance.now()));
    const end = (error?: SnowraftError): void => {
      clearTimeout(timer);
      impatient.forEach(clearTimeout);
      this.#fresh.delete(batch);
      this.#inFlight--;
      this.#schedule();
      this.#emit({ type: "batch", callers: batch.callers, count: batch.count, ...(error === undefined ? {} : { error }) });
    };
    this.#fetch(batch.count, batch.deadline - performance.now()).then((answer) => {
      end();
      batch.cohorts.forEach((cohort) => cohort.resolve(answer));
    }, (error: unknown) => {
      end(SnowraftError.is(error) ? error : undefined);
      batch.cohorts.forEach((cohort) => cohort.reject(error));
    });
  }
}

function late(): SnowraftError {
  return new SnowraftError("snowraft: no answer in time", { reason: "TIMEOUT", retry: true, unknown: true });
}
