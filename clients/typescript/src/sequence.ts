import type { Caller, CallOptions } from "./caller.js";
import { Coalescer } from "./coalescer.js";
import { decodedText, type DecodedText } from "./decoded_text.js";
import { checkCount, invalid, SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";
import { numbersOf, type Numbers } from "./numbers.js";
import { Reservations, type Claim, type Reconciled, type Reservation, type ReserveOptions, type Resolution, type VoidOptions } from "./reservations.js";
import { rules } from "./rules.js";
import { sequenceInfo, type ChangeOptions, type SequenceInfo } from "./sequence_spec.js";
import { int64, object } from "./wire.js";

/** NumberOptions are the options of a request for numbers. A request with one of its own settings is a call of its own. */
export interface NumberOptions extends CallOptions {
  /**
   * 1 to 64 bytes that belong to this request alone. A repetition within 10 minutes with the same ID and count, from this process
   * or another, returns the same numbers.
   */
  requestId?: string | undefined;
  /**
   * The period of the numbers: its first day, such as "2026-10-01", or a shorter form that fits the reset, such as "2026-10". It is the
   * present one, or one that ended and is still open: PERIOD_CLOSED, PERIOD_UNKNOWN. Late numbers follow all that were granted in it.
   */
  period?: string | undefined;
  /**
   * The next number of the period, by the caller's word, if the cluster does not know how the period ended. It needs the right seq:admin. If
   * a number from there on was issued in the period, numbers repeat.
   */
  from?: bigint | undefined;
}

const mostNumbers = 1_000_000;
/** Members write the texts of at most this many numbers. */
const mostTexts = 1_000;

/**
 * Sequence requests the numbers of one sequence from members. Concurrent calls share requests. With a strict sequence, a call that
 * begins after another one returned gets greater numbers (smaller ones with a negative increment). Numbers are unique, with gaps.
 */
export class Sequence {
  /** The name of the sequence. */
  readonly name: string;
  readonly #caller: Caller;
  readonly #calls: Coalescer<Numbers>;
  readonly #texts: Coalescer<Numbers>;
  readonly #reservations: Reservations;

  /** @internal Use Client.sequence. */
  constructor(caller: Caller, name: string, emit: EventSink) {
    this.name = name;
    this.#caller = caller;
    this.#reservations = new Reservations(caller, name);
    const fetch = (count: number, timeoutMs: number): Promise<Numbers> => this.#fetch(count, { timeoutMs });
    // Enough numbers may be left for one caller.
    const divides = (error: unknown): boolean => SnowraftError.is(error) && error.reason === "SEQUENCE_EXHAUSTED";
    this.#calls = new Coalescer(fetch, divides, caller.timeoutMs, emit, mostNumbers);
    this.#texts = new Coalescer(fetch, divides, caller.timeoutMs, emit, mostTexts);
  }

  /** Returns the next number. */
  async next(options: NumberOptions = {}): Promise<bigint> {
    return alone(options) ? (await this.#fetch(1, options)).first : await this.#calls.take(1, options, numberAt);
  }

  /** Returns the next count numbers, 1 to 1,000,000, in one run. If fewer are left, it takes none: SEQUENCE_EXHAUSTED. */
  async take(count: number, options: NumberOptions = {}): Promise<Numbers> {
    checkCount(count, mostNumbers, "numbers");
    return alone(options) ? await this.#fetch(count, options) : await this.#calls.take(count, options, part);
  }

  /** Returns the next number as text, in the format of the sequence; in decimal without one. */
  async nextText(options: NumberOptions = {}): Promise<string> {
    return (await this.texts(1, options))[0] as string;
  }

  /** Returns the next count numbers as text, 1 to 1,000, in the format of the sequence; in decimal without one. */
  async texts(count: number, options: NumberOptions = {}): Promise<string[]> {
    checkCount(count, mostTexts, "texts");
    return textsOf(alone(options) ? await this.#fetch(count, options) : await this.#texts.take(count, options, part));
  }

  /** Returns the last number that was issued; undefined before the first one. */
  async last(options: CallOptions = {}): Promise<bigint | undefined> {
    const answer = await this.#caller.call(rules.lastNumber, { path: `?sequence=${encodeURIComponent(this.name)}` }, options);
    return answer["last"] === undefined ? undefined : int64(answer["last"], "last");
  }

  /**
   * Returns the number of a text that the format of the sequence wrote, or an earlier format of it. The sequence may be a deleted one. If no
   * format of the sequence writes the text, it fails with INVALID_ARGUMENT; the message says which part is wrong, such as the check digit.
   * In a secured cluster, it needs the right seq:decode.
   */
  async decode(text: string, options: CallOptions = {}): Promise<DecodedText> {
    return decodedText(await this.#caller.call(rules.decodeText, { body: { sequence: this.name, text } }, options));
  }

  /** Sets the number that is issued next. */
  async setNext(next: bigint, options: ChangeOptions = {}): Promise<SequenceInfo> {
    return sequenceInfo(object(await this.#caller.call(rules.setNext, {
      body: {
        sequence: this.name, next: `${next}`, force: options.force ?? false,
        ...(options.expectedGeneration === undefined ? {} : { expectedGeneration: `${options.expectedGeneration}` }),
      },
    }, options), "sequence"));
  }

  /**
   * Reserves a number of a gapless sequence for each key, 1 to 100 different keys. A key with an open reservation gets its number again, as
   * the next attempt. A key with a confirmed number gets that number, as confirmed. A key whose number is void gets another one. No time
   * limit ends a reservation: say what became of the number by confirm or void. The call may be repeated.
   */
  async reserve(keys: readonly string[], options: ReserveOptions = {}): Promise<Reservation[]> {
    return await this.#reservations.reserve(keys, options);
  }

  /**
   * Records that the claimed numbers are in use, all or none. It may be repeated. It fails with STALE_ATTEMPT if a key was reserved again
   * since, and with ALREADY_SETTLED if a number is void.
   */
  async confirm(claims: readonly Claim[], options: CallOptions = {}): Promise<void> {
    await this.#reservations.confirm(claims, options);
  }

  /** Records that the claimed numbers are void, all or none, with a reason of 1 to 256 bytes. It may be repeated. */
  async void(claims: readonly Claim[], reason: string, options: VoidOptions = {}): Promise<void> {
    await this.#reservations.void(claims, reason, options);
  }

  /** Returns the open reservations whose first attempt was at least minAgeMs ago, the oldest first; at most 1,000. */
  async openReservations(minAgeMs = 0, options: CallOptions = {}): Promise<Reservation[]> {
    return await this.#reservations.open(minAgeMs, options);
  }

  /**
   * Asks resolve what became of each number that has been open for at least minAgeMs, and records the answer. Call it from time to time, in
   * any number of processes: it settles the numbers of processes that crashed between a reservation and its confirmation. Only the database
   * of the application knows what became of a number, and a transaction may still commit it: docs/document-numbers.md has the recipe. It
   * stops at the first error, except those of reservations that other callers attempted again or settled meanwhile.
   */
  async reconcile(
    minAgeMs: number, resolve: (reservation: Reservation) => Resolution | Promise<Resolution>, options: CallOptions = {},
  ): Promise<Reconciled> {
    return await this.#reservations.reconcile(minAgeMs, resolve, options);
  }

  async #fetch(count: number, options: NumberOptions): Promise<Numbers> {
    const { requestId, period, from } = options;
    const bytes = requestId === undefined ? 1 : Buffer.byteLength(requestId);
    if (bytes < 1 || bytes > 64) {
      throw invalid(`request ID of ${bytes} bytes: expected 1 to 64 bytes`);
    }
    if (period === "" || from !== undefined && period === undefined) {
      throw invalid("period: missing name, such as 2026-10");
    }
    const answer = await this.#caller.call(rules.nextNumbers, {
      body: {
        sequence: this.name, count, ...(requestId === undefined ? {} : { requestId }),
        ...(period === undefined ? {} : { period }), ...(from === undefined ? {} : { from: `${from}` }),
      },
    }, options);
    return numbersOf(answer, count);
  }
}

/** alone reports whether a request cannot share a call with others. */
function alone(options: NumberOptions): boolean {
  return options.requestId !== undefined || options.period !== undefined || options.from !== undefined;
}

function numberAt(numbers: Numbers, index: number): bigint {
  return numbers.at(index);
}

function part(numbers: Numbers, from: number, count: number): Numbers {
  return numbers.part(from, count);
}

function textsOf(numbers: Numbers): string[] {
  return [...numbers.texts ?? Array.from(numbers, String)];
}
