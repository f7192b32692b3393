import { performance } from "node:perf_hooks";
import type { CallOptions } from "./caller.js";
import { own, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";
import { timeoutOf } from "./wait.js";

/** The greatest number of requests in flight that are not overdue: one that a member works on, and one on its way. */
const window = 2;
/** The time after which a request without an answer no longer counts for the window. */
const overdueMs = 5;
const mostInFlight = 64;
/** A caller waits for at most this much longer than its time limit, to share that of others. */
const similarMs = 50;
/** The greatest count of a shared request of one caller: a greater one would delay the others. */
const mostShared = 1_000;

/** Cohort is callers of a batch with similar time limits. They share a promise and a timer, which cost less than one for each. */
class Cohort<A> {
  readonly answer: Promise<A>;
  readonly first: number; // deadline of the first caller, and the earliest one
  deadline: number; // the latest one
  callers = 0;
  count = 0;
  offset = 0; // in the answer, once the request of the batch begins
  resolve!: (answer: A) => void;
  reject!: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;

  /** late is called at the latest deadline, unless the cohort has ended or is patient. */
  constructor(deadline: number, late: () => void) {
    this.first = this.deadline = deadline;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.#watch(late);
  }

  #watch(late: () => void): void {
    const until = this.deadline;
    this.#timer = setTimeout(() => (until === this.deadline ? late() : this.#watch(late)), until - performance.now());
  }

  /** Stops the timer: the end of the request ends the cohort. */
  patient(): void {
    clearTimeout(this.#timer);
  }
}

/** Batch is a shared request and those that wait for its answer. */
class Batch<A> {
  readonly cohorts: Cohort<A>[] = [];
  callers = 0;
  count = 0;
  #begun = false;

  /** Adds a caller and returns its cohort, of which it is the last one. */
  join(count: number, deadline: number): Cohort<A> {
    const cohort = this.#cohortOf(deadline);
    cohort.deadline = Math.max(cohort.deadline, deadline);
    cohort.callers++;
    cohort.count += count;
    this.callers++;
    this.count += count;
    return cohort;
  }

  #cohortOf(deadline: number): Cohort<A> {
    for (const cohort of this.cohorts) {
      if (deadline >= cohort.first && deadline < cohort.first + similarMs) {
        return cohort;
      }
    }
    const cohort: Cohort<A> = new Cohort<A>(deadline, () => this.#late(cohort));
    this.cohorts.push(cohort);
    return cohort;
  }

  /** Ends a cohort whose time has passed. Before the request, nothing is requested for it. */
  #late(cohort: Cohort<A>): void {
    if (!this.#begun) {
      this.cohorts.splice(this.cohorts.indexOf(cohort), 1);
      this.callers -= cohort.callers;
      this.count -= cohort.count;
    }
    cohort.reject(late(this.#begun));
  }

  /** Gives each cohort its part of the answer, and returns the deadline of the request, which is the latest one. */
  begin(): number {
    this.#begun = true;
    const deadline = Math.max(...this.cohorts.map((cohort) => cohort.deadline));
    let offset = 0;
    for (const cohort of this.cohorts) {
      cohort.offset = offset;
      offset += cohort.count;
      if (cohort.deadline === deadline) {
        cohort.patient();
      }
    }
    return deadline;
  }

  /** Ends all cohorts. */
  end(settle: (cohort: Cohort<A>) => void): void {
    for (const cohort of this.cohorts) {
      cohort.patient();
      settle(cohort);
    }
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
    const timeoutMs = timeoutOf(options, this.#timeoutMs);
    if (count > mostShared) {
      return part(await this.#fetch(count, timeoutMs), 0, count);
    }
    const deadline = performance.now() + timeoutMs;
    if (this.#open !== undefined && this.#open.count + count > this.#mostCount) {
      this.#begin();
    }
    const batch = (this.#open ??= new Batch());
    const cohort = batch.join(count, deadline);
    const offset = cohort.count - count;
    this.#schedule();
    try {
      return part(await cohort.answer, cohort.offset + offset, count);
    } catch (error) {
      if (batch.callers > 1 && this.#divides(error)) {
        return part(await this.#fetch(count, Math.max(1, deadline - performance.now())), 0, count);
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
    return this.#open !== undefined && this.#open.callers > 0 && this.#inFlight < mostInFlight && this.#fresh.size < window &&
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
    const end = (error?: SnowraftError): void => {
      clearTimeout(timer);
      this.#fresh.delete(batch);
      this.#inFlight--;
      this.#schedule();
      this.#emit({ type: "batch", callers: batch.callers, count: batch.count, ...(error === undefined ? {} : { error }) });
    };
    this.#fetch(batch.count, Math.max(1, batch.begin() - performance.now())).then((answer) => {
      end();
      batch.end((cohort) => cohort.resolve(answer));
    }, (error: unknown) => {
      end(SnowraftError.is(error) ? error : undefined);
      batch.end((cohort) => cohort.reject(error));
    });
  }
}

function late(begun: boolean): SnowraftError {
  return new SnowraftError(begun ? "snowraft: no answer in time" : "snowraft: too many requests are without an answer", {
    reason: "TIMEOUT", retry: true, unknown: begun,
  });
}
