import { SnowraftError } from "./errors.js";
import { mayBeDone, repeatOf } from "./reasons.js";
import type { Rule } from "./rules.js";
import type { Answer, TransportError } from "./transport.js";
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
  /** Whether the answer came from something that is no member. */
  readonly foreign: boolean;
}

/** faultOfTransport returns the failure of a request without an answer. */
export function faultOfTransport(error: TransportError, member: string): Fault {
  return {
    member, reason: error.reason ?? "", message: error.late ? "no answer in time" : error.message, retryAfterMs: undefined, metadata: {},
    sent: error.sent, late: error.late, foreign: false,
  };
}

/** faultOfAnswer returns the failure that an answer with a status other than 2xx reports. */
export function faultOfAnswer(answer: Answer, member: string): Fault {
  const base = { member, retryAfterMs: undefined, metadata: {}, sent: true, late: false };
  let status: Json;
  try {
    status = JSON.parse(answer.body) as Json;
    if (typeof status["message"] !== "string" || !Array.isArray(status["details"])) {
      throw new Error();
    }
  } catch {
    const tls = answer.status === 400 && answer.body.includes("HTTPS");
    return {
      ...base, reason: "", foreign: !tls,
      message: tls
        ? "the port speaks TLS; it needs a token with a pin, a CA or tls"
        : `not a Snowraft member (possibly a proxy): HTTP status ${answer.status}`,
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
  return { ...base, reason, metadata, retryAfterMs, message: status["message"] as string, late: answer.status === 504, foreign: false };
}

/** mayRepeat reports whether to try a call again after a fault. */
export function mayRepeat(rule: Rule, fault: Fault): boolean {
  if (rule.repeat === "never") {
    return false;
  }
  const harmless = rule.repeat === "harmless";
  if (fault.foreign) {
    return harmless; // a proxy may have forwarded the request
  }
  if (fault.reason === "") {
    return harmless || !fault.sent;
  }
  if (fault.reason === "PIN_MISMATCH") {
    return true; // another member may be of the cluster
  }
  const repeat = repeatOf(fault.reason);
  return repeat === "yes" || (repeat === "method" && harmless);
}

function part(fault: Fault): string {
  return (fault.member === "" ? "" : `${fault.member}: `) + fault.message + (fault.reason === "" ? "" : ` [${fault.reason}]`);
}

/** errorOf returns the error of a call that ended with a fault, and other faults of other members. */
export function errorOf(rule: Rule, fault: Fault, others: readonly Fault[], interrupted: boolean): SnowraftError {
  const also = others.filter((other, i) =>
    other.member !== fault.member && others.findIndex((o) => o.member === other.member) === i);
  const single = (f: Fault, message: string, errors: SnowraftError[]): SnowraftError => {
    const reason = f.reason !== "" ? f.reason : f.sent && f.late ? "TIMEOUT" : "UNAVAILABLE";
    const unknown = rule.changes && (f.reason === "" ? f.sent : mayBeDone(f.reason));
    const repeat = repeatOf(f.reason);
    return new SnowraftError(message, {
      reason,
      retry: f.reason === "" ? rule.repeat === "harmless" || !f.sent
        : repeat === "yes" || repeat === "later" || (repeat === "method" && rule.repeat === "harmless"),
      unknown,
      retryAfterMs: f.retryAfterMs,
      member: f.member === "" ? undefined : f.member,
      errors,
      metadata: f.metadata,
    });
  };
  const all = [fault, ...also];
  const message = `snowraft: ${all.map(part).join("; ")}${interrupted ? " (the time limit passed)" : ""}`;
  return single(fault, message, all.length === 1 ? [] : all.map((f) => single(f, `snowraft: ${part(f)}`, [])));
}
