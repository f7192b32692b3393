import { performance } from "node:perf_hooks";
import { closedError, type SnowraftError } from "./errors.js";
import type { EventSink } from "./events.js";
import { errorOf, faultOfAnswer, faultOfTransport, isStranger, isUnknown, mayRepeat, type Fault } from "./fault.js";
import { Receipts } from "./receipts.js";
import type { Rule } from "./rules.js";
import { Standing } from "./standing.js";
import { TransportError, type Transport } from "./transport.js";
import { Bell, sleep, timeoutOf } from "./wait.js";
import { list, malformed, text, type Json } from "./wire.js";

const firstPauseMs = 10;
const longestPauseMs = 500;
/** Members accept no longer deadline. */
const longestDeadlineMs = 25_000;
/** Bounds a list of a member that never ends it. */
const mostPages = 10_000;

/** CallOptions are the options of one call. */
export interface CallOptions {
  /** Time limit of the call with all its tries, in milliseconds, greater than 0; the default is that of the client. */
  timeoutMs?: number | undefined;
}

/** Call is one call of a method. */
export interface Call {
  /** The end of the path, percent-encoded, and the query. */
  readonly path?: string;
  readonly body?: Json;
  /** Time that the work itself takes, added to the time of each try. */
  readonly workMs?: number;
  /** One try may use all the time: none is reserved for another member. */
  readonly large?: boolean;
  /** Takes the error after each failed try. roundEnded: each member was tried. */
  readonly onFailure?: (error: SnowraftError, roundEnded: boolean) => void;
}

type Outcome = { readonly answer: Json } | { readonly fault: Fault };

/** Caller makes calls. If a member fails, it repeats the call at another member where the rule of the method allows that. */
export class Caller {
  readonly standing: Standing;
  readonly receipts = new Receipts();
  /** Rings when a member reports that the cluster is sealed. */
  readonly sealed = new Bell();
  /** Rings when a member did not answer. */
  readonly broken = new Bell();
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #emit: EventSink;
  #draining = false;
  #closed = false;
  readonly #end = new Bell();

  constructor(seeds: readonly string[], transport: Transport, timeoutMs: number, emit: EventSink) {
    this.standing = new Standing(seeds);
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
    this.#emit = emit;
  }

  #isOver(rule: Rule): boolean {
    return this.#closed || (this.#draining && !rule.urgent);
  }

  /** The time limit of calls without one. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Makes a call with as many tries as its time allows, and returns the answer. */
  async call(rule: Rule, call: Call, options: CallOptions = {}): Promise<Json> {
    const deadline = performance.now() + timeoutOf(options, this.#timeoutMs);
    let round: Fault[] = []; // of the current round, in which each member is called once
    let former: Fault[] = []; // of the previous round
    let before: Fault | undefined; // the most specific fault of all previous rounds
    let unknown = false; // some try may have had an effect
    let limit = rule.tryMs === 0 ? 0 : rule.tryMs + (call.workMs ?? 0);
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      const { address, others } = this.standing.pick(round.map((f) => f.member), rule.leader);
      const left = deadline - performance.now();
      const time = limit === 0 ? left : Math.min(limit, call.large === true ? left : left / 2);
      const outcome = await this.#try(rule, call, address, time, left);
      if ("answer" in outcome) {
        return outcome.answer;
      }
      const { fault } = outcome;
      unknown ||= isUnknown(fault);
      if (this.#isOver(rule)) {
        throw closedError(unknown);
      }
      round.push(fault);
      const interrupted = performance.now() >= deadline;
      const careful = rule.repeat !== "harmless" && fault.sent && fault.reason === "";
      const specific = (): Fault => mostSpecific(before, round);
      if (interrupted || !mayRepeat(rule, fault)) {
        throw errorOf(rule, careful || !interrupted ? fault : specific(), [...round, ...former], { interrupted, unknown });
      }
      call.onFailure?.(errorOf(rule, specific(), round), !others);
      if (others) {
        continue;
      }
      const worst = specific();
      const wait = Math.max(pause, Math.min(worst.retryAfterMs ?? 0, longestPauseMs)) * (1 + Math.random() / 4);
      const remains = deadline - performance.now();
      const hopeless = ["WORKERS_EXHAUSTED", "FENCED"].includes(worst.reason) && (worst.retryAfterMs ?? 0) > remains;
      if (remains < firstPauseMs || hopeless || round.every(isStranger)) {
        throw errorOf(rule, worst, [...round, ...former], { interrupted: remains < firstPauseMs, unknown });
      }
      await sleep(Math.min(wait, remains / 2), [this.#end]);
      if (this.#isOver(rule)) {
        throw closedError(unknown);
      }
      before = worst;
      former = round;
      round = [];
      limit *= 2;
    }
  }

  /** Returns the objects in a list of an answer, of all its pages. */
  async all(rule: Rule, name: string, query: string, options: CallOptions): Promise<Json[]> {
    const found: Json[] = [];
    let token = "";
    for (let page = 0; page < mostPages; page++) {
      const answer = await this.call(rule, { path: `?${query}pageSize=1000&pageToken=${encodeURIComponent(token)}` }, options);
      found.push(...(list(answer, name) as Json[]));
      const next = text(answer, "nextPageToken");
      if (next === "") {
        return found;
      }
      if (next === token) {
        break;
      }
      token = next;
    }
    throw malformed("a list that does not end");
  }

  async #try(rule: Rule, call: Call, address: string, timeoutMs: number, leftMs: number): Promise<Outcome> {
    if (this.#isOver(rule)) {
      throw closedError();
    }
    const done = this.standing.begin(address);
    const began = performance.now();
    let outcome: Outcome;
    try {
      const answer = await this.#transport.send(address, {
        verb: rule.verb,
        path: rule.path + (call.path ?? ""),
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        headers: {
          "Grpc-Timeout": `${Math.max(1, Math.floor(Math.min(timeoutMs, leftMs, longestDeadlineMs)))}m`,
          ...(rule.receipt ? this.receipts.headers() : {}),
        },
        timeoutMs,
        urgent: rule.urgent,
      });
      outcome = answer.status >= 200 && answer.status < 300 ? { answer: parse(answer.body) } : { fault: faultOfAnswer(answer, address) };
    } catch (error) {
      if (!(error instanceof TransportError)) {
        throw error;
      }
      outcome = { fault: faultOfTransport(error, address) };
    } finally {
      done();
    }
    this.#note(rule, address, performance.now() - began, outcome);
    return outcome;
  }

  /** Learns from the outcome of a try. */
  #note(rule: Rule, address: string, tookMs: number, outcome: Outcome): void {
    if ("answer" in outcome) {
      this.receipts.keep(outcome.answer);
      this.standing.trust(address);
      this.#emit({ type: "try", method: rule.path, member: address, tookMs });
      return;
    }
    const { fault } = outcome;
    if ((!fault.sent && !fault.queued) || (fault.late && tookMs >= rule.suspectMs)) {
      this.standing.suspect(address);
    } else if (fault.reason !== "") {
      this.standing.trust(address);
    }
    if (fault.reason === "NO_LEADER") {
      this.standing.withoutLeader(address);
    }
    this.#emit({ type: "try", method: rule.path, member: address, tookMs, error: errorOf(rule, fault) });
    if (fault.reason === "SET_BACK") {
      this.sealed.ring();
    } else if (fault.reason === "") {
      this.broken.ring();
    }
  }

  /** Ends the calls that are not urgent with CLOSED. */
  drain(): void {
    this.#draining = true;
    this.#end.ring();
    this.#transport.drain();
  }

  /** Ends all calls with CLOSED. */
  close(): void {
    this.#closed = true;
    this.#end.ring();
    this.#transport.close();
  }
}

/** mostSpecific returns the latest fault with a member's reason; without one, the latest fault. */
function mostSpecific(before: Fault | undefined, round: readonly Fault[]): Fault {
  let best = before;
  for (const fault of round) {
    if (best === undefined || fault.reason !== "" || best.reason === "") {
      best = fault;
    }
  }
  return best as Fault;
}

function parse(body: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw malformed("no JSON object");
  }
  return value as Json;
}
