import { performance } from "node:perf_hooks";
import type { Caller, CallOptions } from "./caller.js";
import { read, systemClock, type Reading } from "./clock.js";
import { checkCount, checkNames, closedError, invalid, own, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";
import { Ledger } from "./ledger.js";
import type { Numbers } from "./numbers.js";
import { Pacer } from "./pacer.js";
import { osRandom } from "./random.js";
import { plain, setBack } from "./refusals.js";
import { rules } from "./rules.js";
import { Shelf } from "./shelf.js";
import { blockOf, isPlausible, type Block, type Stock } from "./stock.js";
import { Bell, sleep, timeoutOf, within } from "./wait.js";
import { malformed, object, text, uint64 } from "./wire.js";

/** BlocksOptions are the options of {@link Blocks}. */
export interface BlocksOptions {
  /** Numbers in the first block, 1 to 1,000,000; the default is 100. Later sizes follow the rate of use. */
  size?: number | undefined;
  /** Interval at which the sequence is checked for changes, at least 100 ms; the default is 3,000. */
  refreshMs?: number | undefined;
}

const mostNumbers = 1_000_000;
const leastRefreshMs = 100;
const refreshTimeoutMs = 2_000;
const requestMs = 5_000;
const readyPauseMs = 50;
/** The number of blocks in a row that may be outdated, or too short for a caller, before the caller gets an error. */
const mostTries = 3;

interface Waiter {
  readonly count: number;
  asked: boolean; // a request in progress is also for this one
  short: number; // requests for this one that returned fewer numbers
  readonly resolve: (numbers: Numbers) => void;
  readonly reject: (error: SnowraftError) => void;
}

/**
 * Blocks issues the numbers of one relaxed sequence from memory: from the present block, and then from the next one, which it
 * requests in the background. Numbers are unique in the cluster and ascend in this process (they descend with a negative
 * increment). It goes on while no member can be reached, as long as it has numbers. Texts of a format come from members only: see
 * Sequence.
 *
 * It learns of changes of the sequence every few seconds. With a strict sequence, calls fail with STRICT_SEQUENCE.
 */
export class Blocks {
  readonly #caller: Caller;
  readonly #emit: EventSink;
  readonly #name: string;
  readonly #refreshMs: number;
  readonly #key = osRandom(16).toString("base64");
  readonly #ledger = new Ledger();
  readonly #pacer: Pacer;
  readonly #end = new Bell();
  readonly #onClose: () => void;
  readonly #offSealed: () => void;
  #sealed = false;
  readonly #shelf = new Shelf();
  #waiting: Waiter[] = [];
  #request: Promise<void> | undefined;
  #problem: SnowraftError | undefined;
  #started = false;
  #lookAt = 0; // value of current.taken from which the pace is checked
  #closing: Promise<void> | undefined;

  /** @internal Use Client.blocks. */
  constructor(caller: Caller, emit: EventSink, name: string, options: BlocksOptions, onClose: () => void) {
    checkNames(options, ["size", "refreshMs"]);
    const size = options.size ?? 100;
    checkCount(size, mostNumbers, "numbers in the first block");
    this.#refreshMs = options.refreshMs ?? 3_000;
    if (!(this.#refreshMs >= leastRefreshMs)) {
      throw invalid(`refresh interval ${this.#refreshMs} ms: expected at least ${leastRefreshMs} ms`);
    }
    this.#caller = caller;
    this.#emit = emit;
    this.#name = name;
    this.#pacer = new Pacer(size);
    this.#onClose = onClose;
    this.#offSealed = caller.sealed.once(() => this.#seal());
  }

  /** Returns the next number from memory. Throws EMPTY if none is there now; the next block is then on its way. See ready. */
  next(): bigint {
    return this.takeNow(1).first;
  }

  /** Returns the next count numbers from memory, in one run. It throws as next does. */
  takeNow(count: number): Numbers {
    checkCount(count, mostNumbers, "numbers");
    this.#begin();
    const now = read(systemClock);
    const numbers = this.#serve(count, now);
    if (numbers !== undefined) {
      return numbers;
    }
    if (this.#pacer.mayRequest(now.mono)) {
      void this.#requestBlock();
    }
    throw own(this.#problem) ?? new SnowraftError(`snowraft: no numbers of sequence "${this.#name}" are in memory now; await ready() first`, {
      reason: "EMPTY", retryAfterMs: 10,
    });
  }

  /** Returns the next count numbers, 1 to 1,000,000, in one run. It waits for a block if none has them. */
  async take(count: number, options: CallOptions = {}): Promise<Numbers> {
    checkCount(count, mostNumbers, "numbers");
    const timeoutMs = timeoutOf(options, this.#caller.timeoutMs);
    this.#begin();
    const numbers = this.#serve(count, read(systemClock));
    if (numbers !== undefined) {
      return numbers;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((w) => w !== waiter);
        reject(own(this.#problem) ?? this.#late());
      }, timeoutMs);
      const waiter: Waiter = {
        count, asked: false, short: 0,
        resolve: (taken) => {
          clearTimeout(timer);
          resolve(taken);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#waiting.push(waiter);
      void this.#requestBlock();
    });
  }

  /** Waits until a number is in memory, for at most the time limit, by default that of the client. It takes none. */
  async ready(options: CallOptions = {}): Promise<void> {
    const deadline = performance.now() + timeoutOf(options, this.#caller.timeoutMs);
    this.#begin();
    while (this.#shelf.left(read(systemClock)) === 0) {
      await within(this.#requestBlock(), deadline - performance.now(), [this.#end]);
      const problem = this.#over ?? this.#problem;
      if (problem?.retry === false) {
        throw own(problem);
      }
      if (performance.now() >= deadline) {
        throw own(problem) ?? this.#late();
      }
      if (problem !== undefined) {
        await sleep(Math.min(readyPauseMs, deadline - performance.now()), [this.#end]);
      }
    }
  }

  #late(): SnowraftError {
    return new SnowraftError(`snowraft: no block of sequence "${this.#name}" was granted in time`, { reason: "TIMEOUT", retry: true });
  }

  /** How many numbers are in memory now. */
  get available(): number {
    return this.#shelf.left(read(systemClock));
  }

  /** Why nothing is issued any more; undefined while something is. */
  get #over(): SnowraftError | undefined {
    if (this.#closing !== undefined) {
      return closedError();
    }
    return this.#sealed ? setBack() : undefined;
  }

  #begin(): void {
    if (this.#over !== undefined) {
      throw this.#over;
    }
    if (!this.#started) {
      this.#started = true;
      void this.#follow();
    }
  }

  /** Follows changes of the sequence until close. */
  async #follow(): Promise<void> {
    for (;;) {
      await sleep(this.#refreshMs, [this.#end], true);
      if (this.#over !== undefined) {
        return;
      }
      try {
        const answer = await this.#caller.call(rules.getSequence, {
          path: `${encodeURIComponent(this.#name)}?local=true`,
        }, { timeoutMs: refreshTimeoutMs });
        const sequence = object(answer, "sequence");
        this.#ledger.learn({ generation: uint64(sequence["generation"], "generation"), period: text(sequence, "period") });
      } catch (error) {
        if (!SnowraftError.is(error) || error.reason !== "UNKNOWN_SEQUENCE") {
          continue; // without an answer, nothing changes
        }
        this.#ledger.drop();
      }
      this.#shelf.drop((block) => this.#ledger.isOutdated(block));
    }
  }

  /** Stops for good: the cluster may have granted the same blocks twice. */
  #seal(): void {
    this.#sealed = true;
    this.#shelf.clear();
    this.#end.ring();
    for (const waiter of this.#waiting.splice(0)) {
      waiter.reject(setBack());
    }
  }

  /** Takes numbers from memory, and requests the next block early. */
  #serve(count: number, now: Reading): Numbers | undefined {
    const before = this.#shelf.current;
    const numbers = this.#shelf.take(count, now);
    const stock = this.#shelf.current;
    if (stock !== undefined && (stock !== before || stock.taken >= this.#lookAt)) {
      this.#pace(stock, now);
    }
    return numbers;
  }

  /** Requests the next block if it is due, and sets the mark at which a call looks again. */
  #pace(stock: Stock, now: Reading): void {
    this.#pacer.measure(now.mono, this.#shelf.taken);
    this.#lookAt = stock.taken + Math.max(1, Math.floor(stock.count / 16));
    if (this.#shelf.hasNext || this.#request !== undefined) {
      return;
    }
    const reserve = this.#pacer.reserve(stock.count);
    if (stock.left > reserve) {
      this.#lookAt = Math.min(this.#lookAt, stock.count - reserve);
    } else if (this.#pacer.mayRequest(now.mono)) {
      void this.#requestBlock();
    } else {
      this.#lookAt = stock.taken;
    }
  }

  /** Requests blocks until no caller waits. All callers share the requests. It never rejects. */
  #requestBlock(): Promise<void> {
    this.#request ??= this.#ask().finally(() => {
      this.#request = undefined;
    });
    return this.#request;
  }

  async #ask(): Promise<void> {
    for (let tries = 1; ; ) {
      const asked = read(systemClock);
      const counts = this.#waiting.map((w) => w.count);
      const count = this.#pacer.ask(counts.reduce((a, b) => a + b, 0), Math.max(0, ...counts));
      for (const waiter of this.#waiting) {
        waiter.asked = true;
      }
      try {
        const block = blockOf(await this.#caller.call(rules.allocateBlock, {
          body: { sequence: this.#name, count: `${count}`, returnKey: this.#key },
        }, { timeoutMs: requestMs }));
        if (!isPlausible(block) || !this.#ledger.follows(block)) {
          throw malformed(`impossible block of sequence "${this.#name}": ` +
            `token ${block.token}, ${block.count} numbers from ${block.first} by ${block.increment}`);
        }
        this.#ledger.token = block.token;
        if (this.#ledger.isOutdated(block) && tries++ < mostTries && this.#over === undefined) {
          continue;
        }
        if (this.#ledger.isOutdated(block)) {
          throw new SnowraftError(
            `snowraft: the granted blocks of sequence "${this.#name}" are outdated, because the sequence is being changed; try again`,
            { reason: "SEQUENCE_CHANGED", retry: true },
          );
        }
        this.#pacer.granted(block, read(systemClock).mono - asked.mono);
        this.#problem = undefined;
        this.#accept(block, asked);
      } catch (error) {
        this.#fail(SnowraftError.is(error) ? error : malformed(String(error)));
      }
      tries = 1;
      if (this.#over !== undefined || this.#waiting.length === 0) {
        return;
      }
    }
  }

  #fail(error: SnowraftError): void {
    this.#problem = error;
    if (this.#pacer.failed(read(systemClock).mono) && error.reason !== "CLOSED") {
      this.#emit({ type: "block", sequence: this.#name, error });
    }
    const refused = this.#waiting.filter((w) => w.asked);
    this.#waiting = this.#waiting.filter((w) => !w.asked);
    for (const waiter of refused) {
      waiter.reject(own(error));
    }
  }

  /** Stores a granted block and serves the waiting callers. */
  #accept(block: Block, asked: Reading): void {
    const now = read(systemClock);
    this.#ledger.accepted(block);
    this.#shelf.drop((old) => this.#ledger.isOutdated(old));
    if (this.#sealed) {
      return;
    }
    this.#shelf.put(block, asked, now);
    if (this.#closing !== undefined) {
      return; // close returns the block
    }
    this.#serveWaiting(now);
    for (const waiter of this.#waiting.filter((w) => w.asked && block.count < w.count && ++w.short >= mostTries)) {
      this.#waiting = this.#waiting.filter((w) => w !== waiter);
      waiter.reject(invalid(`sequence "${this.#name}": the cluster granted blocks of ${block.count} numbers, fewer than one call requested; ` +
        "request fewer numbers, or raise the largest block size"));
    }
  }

  #serveWaiting(now: Reading): void {
    this.#waiting = this.#waiting.filter((waiter) => {
      const numbers = this.#serve(waiter.count, now);
      if (numbers !== undefined) {
        waiter.resolve(numbers);
      }
      return numbers === undefined;
    });
  }

  /**
   * Stops issuing and returns the rest of the last block, so that the cluster can grant it again. It rejects if that failed for
   * another reason than that a later block was granted: the numbers stay unused.
   */
  async close(options: CallOptions = {}): Promise<void> {
    this.#closing ??= this.#close(timeoutOf(options, requestMs));
    await this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    await Promise.resolve(); // closing is set
    this.#offSealed();
    this.#end.ring();
    for (const waiter of this.#waiting.splice(0)) {
      waiter.reject(closedError());
    }
    if (this.#request !== undefined) {
      await within(this.#request, timeoutMs); // its block would be skipped
    }
    const rest = this.#shelf.clear();
    this.#onClose();
    const unused = rest === undefined || rest.last.token !== this.#ledger.token || this.#ledger.isOutdated(rest.last)
      ? 0 : Math.min(rest.left, rest.granted);
    if (rest === undefined || unused === 0) {
      return;
    }
    try {
      await this.#caller.call(rules.returnBlock, {
        body: { sequence: this.#name, token: `${rest.last.token}`, unused: `${unused}`, returnKey: this.#key },
      }, { timeoutMs });
    } catch (error) {
      if (!SnowraftError.is(error) || error.reason !== "NOT_LAST_BLOCK") {
        throw new SnowraftError(
          `snowraft: the last ${unused} numbers of sequence "${this.#name}" were not returned and stay unused: ${plain(error)}`,
          { reason: SnowraftError.is(error) ? error.reason : "INTERNAL", retry: false },
        );
      }
    }
  }
}
