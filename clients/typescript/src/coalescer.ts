import { performance } from "node:perf_hooks";
import type { CallOptions } from "./caller.js";
import { own, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";

/** The greatest number of requests in flight that are not overdue: one that a member works on, and one on its way. */
const window = 2;
/** The time after which a request without an answer no longer counts for the window. */
const overdueMs = 5;
const mostInFlight = 64;
/** Callers whose time limits differ by less share that of the request. */
const similarMs = 50;
/** The greatest count of a shared request of one caller: a greater one would delay the others. */
const mostShared = 1_000;

/** Share is a caller's part of an answer: the items from offset on. */
export interface Share<A> {
  readonly answer: A;
  readonly offset: number;
}

interface Caller<A> {
  readonly count: number;
  readonly offset: number;
  readonly deadline: number;
  readonly resolve: (share: Share<A>) => void;
  readonly reject: (error: unknown) => void;
}

interface Batch<A> {
  readonly callers: Caller<A>[];
  count: number;
  deadline: number;
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

  /** Requests count items. */
  async take(count: number, options: CallOptions): Promise<Share<A>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    if (count > mostShared) {
      return { answer: await this.#fetch(count, timeoutMs), offset: 0 };
    }
    try {
      return await new Promise((resolve, reject) => this.#join(count, performance.now() + timeoutMs, resolve, reject));
    } catch (error) {
      throw own(error);
    }
  }

  #join(count: number, deadline: number, resolve: Caller<A>["resolve"], reject: Caller<A>["reject"]): void {
    if (this.#open !== undefined && this.#open.count + count > this.#mostCount) {
      this.#begin();
    }
    const open = (this.#open ??= { callers: [], count: 0, deadline: 0 });
    open.deadline = Math.max(open.deadline, deadline);
    open.callers.push({ count, offset: open.count, deadline, resolve, reject });
    open.count += count;
    this.#schedule();
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
      (first === undefined || this.#open.callers.length >= first.callers.length);
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
    const impatient = batch.callers.filter((caller) => caller.deadline < batch.deadline - similarMs)
      .map((caller) => setTimeout(() => caller.reject(late()), caller.deadline - performance.now()));
    const end = (error?: SnowraftError): void => {
      clearTimeout(timer);
      impatient.forEach(clearTimeout);
      this.#fresh.delete(batch);
      this.#inFlight--;
      this.#schedule();
      this.#emit({ type: "batch", callers: batch.callers.length, count: batch.count, ...(error === undefined ? {} : { error }) });
    };
    this.#fetch(batch.count, batch.deadline - performance.now()).then((answer) => {
      end();
      for (const caller of batch.callers) {
        caller.resolve({ answer, offset: caller.offset });
      }
    }, (error: unknown) => {
      end(SnowraftError.is(error) ? error : undefined);
      const divided = batch.callers.length > 1 && this.#divides(error);
      for (const caller of batch.callers) {
        if (divided) {
          this.#fetch(caller.count, caller.deadline - performance.now())
            .then((answer) => caller.resolve({ answer, offset: 0 }), caller.reject);
        } else {
          caller.reject(error);
        }
      }
    });
  }
}

function late(): SnowraftError {
  return new SnowraftError("snowraft: no answer in time", { reason: "TIMEOUT", retry: true, unknown: true });
}
