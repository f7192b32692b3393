import { SnowraftError } from "./errors.js";
import { expectsTls, type Answer } from "./http11.js";
import { mayBeDone, repeatOf, type Repeat } from "./reasons.js";
import type { Rule } from "./rules.js";
import type { TransportError } from "./transport.js";
import type { Json } from "./wire.js";

/** Fault is the failure of one try of a call. */
export interface Fault {
  readonly member: string;
  /** The member's reason; empty if no member gave one. */
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether a member may have received the request. */
  readonly sent: boolean;
  /** Whether no answer came in time. */
  readonly late: boolean;
  /** Whether no member decided: a request that was sent may have been done. */
  readonly undecided: boolean;
  /** Whether the port is not one at which a member speaks HTTP: nothing was done. */
  readonly wrongPort: boolean;
  /** Whether the request only waited for other ones to the same member. */
  readonly queued: boolean;
}

/** faultOfTransport returns the failure of a request without an answer. */
export function faultOfTransport(error: TransportError, member: string): Fault {
  return {
    member, reason: error.reason ?? "", message: error.message, retryAfterMs: undefined, metadata: {},
    sent: error.sent, late: error.late, undecided: !error.wrongPort, wrongPort: error.wrongPort, queued: error.queued,
  };
}

/** faultOfAnswer returns the failure that an answer with a status other than 2xx reports. */
export function faultOfAnswer(answer: Answer, member: string): Fault {
  const base = { member, retryAfterMs: undefined, metadata: {}, sent: true, late: false, wrongPort: false, queued: false };
  let status: Json;
  try {
    status = JSON.parse(answer.body) as Json;
    if (typeof status["message"] !== "string" || !Array.isArray(status["details"])) {
      throw new Error();
    }
  } catch {
    const tls = answer.status === 400 && answer.body.includes("HTTPS");
    const wrongPort = tls || answer.status === 404;
    return {
      ...base, reason: "", undecided: !wrongPort, wrongPort, // with another status, a proxy may have forwarded the request
      message: tls ? expectsTls : `not a Snowraft member (possibly a proxy): HTTP status ${answer.status}; check the address`,
    };
  }
  let reason = "";
  let metadata: Record<string, string> = {};
  let retryAfterMs: number | undefined;
  for (const detail of status["details"] as Json[]) {
    if (detail["domain"] === "snowraft" && typeof detail["reason"] === "string") {
      reason = detail["reason"];
      metadata = (detail["metadata"] ?? {}) as Record<string, string>;
    }
    const delay = detail["retryDelay"];
    if (typeof delay === "string" && /^[0-9.]+s$/.test(delay)) {
      retryAfterMs = Math.ceil(Number(delay.slice(0, -1)) * 1000);
    }
  }
  return { ...base, reason, metadata, retryAfterMs, message: status["message"] as string,
    late: answer.status === 504, undecided: reason === "" && [1, 4, 14].includes(status["code"] as number) };
}

/** mayRepeat reports whether to try a call again after a fault. */
export function mayRepeat(rule: Rule, fault: Fault): boolean {
  if (rule.repeat === "never") {
    return false;
  }
  const repeat = repeatOf(fault.reason);
  return isStranger(fault) || // another member may be of the cluster
    repeat === "yes" || isSafe(rule, fault, repeat);
}

/** isStranger reports whether the server is not a member of the cluster: as long as all are strangers, waiting does not help. */
export function isStranger(fault: Fault): boolean {
  return fault.wrongPort || fault.reason === "PIN_MISMATCH";
}

/** isSafe reports whether a repetition does no harm after a fault whose outcome is unknown. */
function isSafe(rule: Rule, fault: Fault, repeat: Repeat): boolean {
  const harmless = rule.repeat === "harmless";
  return fault.reason === "" ? fault.undecided && (harmless || !fault.sent) : repeat === "method" && harmless;
}

function part(fault: Fault): string {
  return (fault.member === "" ? "" : `${fault.member}: `) + fault.message;
}

/** reasonOf returns the member's reason, or the client's own. */
function reasonOf(fault: Fault): string {
  return fault.reason !== "" ? fault.reason : fault.undecided && fault.sent && fault.late ? "TIMEOUT" : "UNAVAILABLE";
}

/** summary returns the message of faults of different members, the first of which decides. */
function summary(faults: readonly Fault[], interrupted: boolean): string {
  const [first, ...others] = faults as [Fault, ...Fault[]];
  if (faults.every((f) => f.undecided && !f.sent && !f.queued && f.reason === "")) {
    const causes = [...new Set(faults.map((f) => f.message))];
    return `no member can be reached (tried: ${faults.map((f) => f.member).join(", ")}): ${causes.join(", ")}; ` +
      "check the addresses: they are host:port of the HTTP ports, 7701 by default";
  }
  const notes = [...(interrupted ? ["the time limit passed"] : []), ...others.map((f) => `${part(f)} [${reasonOf(f)}]`)];
  return part(first) + (notes.length === 0 ? "" : ` (${notes.join("; ")})`);
}

/** isUnknown reports whether a request may have had an effect, as far as a fault shows. */
export function isUnknown(fault: Fault): boolean {
  return fault.reason === "" ? fault.undecided && fault.sent : mayBeDone(fault.reason);
}

/**
 * errorOf returns the error of a call that ended with a fault, and other faults of other members. The time limit interrupted it, or
 * some try may have had an effect.
 */
export function errorOf(
  rule: Rule, fault: Fault, others: readonly Fault[] = [], { interrupted, unknown } = { interrupted: false, unknown: false },
): SnowraftError {
  const also = others.filter((other, i) =>
    other.member !== fault.member && others.findIndex((o) => o.member === other.member) === i);
  const single = (f: Fault, message: string, errors: SnowraftError[]): SnowraftError => {
    const repeat = repeatOf(f.reason);
    return new SnowraftError(message, {
      reason: reasonOf(f),
      retry: repeat === "yes" || repeat === "later" || isSafe(rule, f, repeat),
      unknown: isUnknown(f) || (unknown && f === fault),
      retryAfterMs: f.retryAfterMs,
      member: f.member === "" ? undefined : f.member,
      errors,
      metadata: f.metadata,
    });
  };
  const all = [fault, ...also];
  return single(fault, `snowraft: ${summary(all, interrupted)}`, all.length === 1 ? [] : all.map((f) => single(f, `snowraft: ${part(f)}`, [])));
}
