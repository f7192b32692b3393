import { repeatOf } from "./reasons.js";

/** ErrorDetails are the parts of a {@link SnowraftError}, besides its message. */
export interface ErrorDetails {
  reason: string;
  retry?: boolean;
  unknown?: boolean;
  retryAfterMs?: number | undefined;
  member?: string | undefined;
  errors?: readonly SnowraftError[];
  metadata?: Readonly<Record<string, string>>;
}

const brand = Symbol.for("snowraft.SnowraftError");

/** SnowraftError is the failure of a call. Match its reason, never its message. */
export class SnowraftError extends Error {
  /**
   * The member's reason, as in docs/errors.md, or one of the client's own: CLOSED, TIMEOUT, UNAVAILABLE (no member could be
   * reached), INVALID_ARGUMENT, PIN_MISMATCH, WAIT (the clock has to reach the next tick), EMPTY (nothing is in memory now).
   */
  readonly reason: string;
  /** Whether the same call may be repeated: the repetition may succeed, and does no harm if this call had an effect. */
  readonly retry: boolean;
  /** Whether this call may have had an effect. */
  readonly unknown: boolean;
  /** The time after which a repetition may succeed, in milliseconds; undefined if it is not known. */
  readonly retryAfterMs: number | undefined;
  /** The address of the member that was called last; undefined if none was. */
  readonly member: string | undefined;
  /** The last errors of all members that were called; empty if only one was. */
  readonly errors: readonly SnowraftError[];
  /** Further facts of the member's error, such as retry_at_ms. */
  readonly metadata: Readonly<Record<string, string>>;

  /** The message gets the reason as its end, unless it has that already. */
  constructor(message: string, details: ErrorDetails) {
    const end = ` [${details.reason}]`;
    super(message.endsWith(end) ? message : message + end);
    this.name = "SnowraftError";
    this.reason = details.reason;
    this.retry = details.retry ?? ["yes", "later"].includes(repeatOf(details.reason));
    this.unknown = details.unknown ?? false;
    this.retryAfterMs = details.retryAfterMs;
    this.member = details.member;
    this.errors = details.errors ?? [];
    this.metadata = details.metadata ?? {};
    Object.defineProperty(this, brand, { value: true });
  }

  /** Reports whether a value is a SnowraftError, also one of another copy of this package. */
  static is(value: unknown): value is SnowraftError {
    return typeof value === "object" && value !== null && brand in value;
  }
}

/** closedError returns the error of a call that close ended or prevented. unknown: the call may have had an effect. */
export function closedError(unknown = false): SnowraftError {
  return new SnowraftError("snowraft: the client is closed", { reason: "CLOSED", unknown });
}

/** own returns a copy of an error, made for one caller: its stack shows that caller. Other values than a SnowraftError stay. */
export function own<E>(error: E): E {
  return SnowraftError.is(error) ? new SnowraftError(error.message, error) as E : error;
}

/** invalid returns the error of a request that can never succeed. */
export function invalid(message: string): SnowraftError {
  return new SnowraftError(`snowraft: ${message}`, { reason: "INVALID_ARGUMENT" });
}

/** checkNames throws if options have another name than the known ones. */
export function checkNames(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw invalid(`unknown option ${JSON.stringify(unknown)}: expected ${known.join(", ")}`);
  }
}

/** checkAfter throws unless after is an ID, or 0 for none. */
export function checkAfter(after: bigint): void {
  if (after < 0n || BigInt.asIntN(64, after) !== after) {
    throw invalid(`after ${after}: expected an ID or 0`);
  }
}

/** checkCount throws unless n is 1 to most. what names the counted things. */
export function checkCount(n: number, most: number, what: string): void {
  if (!Number.isInteger(n) || n < 1 || n > most) {
    throw invalid(`count of ${what} ${n}: expected 1 to ${most}`);
  }
}
