import type { Caller } from "./caller.js";
import type { Grant } from "./lease.js";
import { rules } from "./rules.js";
import { object, safe, uint64, type Json } from "./wire.js";

/** HolderProcess describes this process to people. */
export interface HolderProcess {
  readonly host: string;
  readonly processId: string;
  readonly kind: string;
  readonly version: string;
}

/** Held is what a holder shows to extend or release its worker. */
export interface Held {
  readonly layout: string;
  readonly worker: bigint;
  readonly token: bigint;
  /** The end that the holder believes its window has. */
  readonly untilTick: number;
}

/**
 * Granter requests workers and windows. A failed request may still have been granted: the grant of a lost reply is lost.
 */
export interface Granter {
  acquire(layout: string, holder: string, clockMs: number, windowMs: number): Promise<Grant>;
  /** A repetition has the same extension ID and untilTick. */
  extend(held: Held, extension: string, clockMs: number, windowMs: number): Promise<Grant>;
  release(held: Held, nextTick: number, timeoutMs: number): Promise<void>;
}

const requestMs = 5_000;

/** MemberGranter requests windows from members. */
export class MemberGranter implements Granter {
  readonly #caller: Caller;
  readonly #nonce: string;
  readonly #process: HolderProcess;

  /** The nonce is 16 random bytes, drawn at each start. It is secret. */
  constructor(caller: Caller, nonce: Uint8Array, process: HolderProcess) {
    this.#caller = caller;
    this.#nonce = Buffer.from(nonce).toString("base64");
    this.#process = process;
  }

  async acquire(layout: string, holder: string, clockMs: number, windowMs: number): Promise<Grant> {
    return grantOf(await this.#caller.call(rules.acquireWorker, {
      body: { layout, holder, nonce: this.#nonce, clockAtMs: `${clockMs}`, windowMs: `${windowMs}`, process: this.#process },
    }, { timeoutMs: requestMs }));
  }

  async extend(held: Held, extension: string, clockMs: number, windowMs: number): Promise<Grant> {
    return grantOf(await this.#caller.call(rules.extendWindow, {
      body: { ...this.#claim(held), clockAtMs: `${clockMs}`, windowMs: `${windowMs}`, extensionId: extension },
    }, { timeoutMs: requestMs }));
  }

  async release(held: Held, nextTick: number, timeoutMs: number): Promise<void> {
    await this.#caller.call(rules.releaseWorker, { body: { ...this.#claim(held), nextTick: `${nextTick}` } }, { timeoutMs });
  }

  #claim(held: Held): Json {
    return { layout: held.layout, worker: `${held.worker}`, token: `${held.token}`, nonce: this.#nonce, untilTick: `${held.untilTick}` };
  }
}

/** grantOf returns the grant of an answer. It checks numbers only; the lane checks whether the grant is possible. */
export function grantOf(answer: Json): Grant {
  const grant = object(answer, "grant");
  return {
    worker: uint64(grant["worker"], "worker"),
    token: uint64(grant["token"], "token"),
    fromTick: safe(grant["fromTick"], "fromTick"),
    untilTick: safe(grant["untilTick"], "untilTick"),
    observedMs: safe(grant["observedClockAtMs"], "observedClockAtMs"),
    maxWindowMs: safe(grant["maxWindowMs"], "maxWindowMs"),
  };
}
