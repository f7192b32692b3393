import type { Caller, CallOptions } from "./caller.js";
import { invalid, SnowraftError } from "./errors.js";
import { rules } from "./rules.js";
import { int64, list, malformed, safe, text, uint64, type Json } from "./wire.js";

/** Claim names an attempt of a reservation. A later attempt replaces it: what its holder says then changes nothing. */
export interface Claim {
  /** 1 to 128 bytes, chosen by the application. */
  readonly key: string;
  /** Identifies the reservation among all of the key. */
  readonly reservation: bigint;
  readonly attempt: number;
}

/** Reservation is the number that a gapless sequence reserved for a key. */
export interface Reservation extends Claim {
  readonly number: bigint;
  /** The number in the format of the sequence; in decimal without one. */
  readonly text: string;
  /** First day of the number's period; empty without a reset. */
  readonly period: string;
  /** The number is in use already. Otherwise, it is open. */
  readonly confirmed: boolean;
  /** Time of the first attempt, in Unix milliseconds. */
  readonly reservedAtMs: number;
  /** Caller of the last attempt, such as "token 17 (billing)". */
  readonly holder: string;
}

/** ReserveOptions are the options of a reservation. */
export interface ReserveOptions extends CallOptions {
  /**
   * Period of new numbers, such as 2026-10: the present one, or an earlier one whose late time has not passed; else it fails with
   * PERIOD_CLOSED. A key that has a number keeps it, also one of another period.
   */
  period?: string | undefined;
}

/** VoidOptions are the options of a call that makes numbers void. */
export interface VoidOptions extends CallOptions {
  /**
   * No transaction can commit the numbers anymore, because the database of the application has a UNIQUE constraint and a committed row
   * for each of them. A sequence with reuse may reserve them again.
   */
  neverCommitted?: boolean | undefined;
}

/**
 * Resolution is an application's answer to the question what became of a reserved number. used: a document with the number is
 * committed. void: there is none, and never will be. leave: not known yet.
 */
export type Resolution =
  | { readonly fate: "used" | "leave" }
  | { readonly fate: "void"; readonly reason: string; readonly neverCommitted?: boolean | undefined };

/** Reconciled counts reservations by what became of them. */
export interface Reconciled {
  readonly confirmed: number;
  readonly void: number;
  readonly left: number;
  /** Reserved again or settled by another caller meanwhile. */
  readonly overtaken: number;
}

const overtaken: readonly string[] = ["STALE_ATTEMPT", "ALREADY_SETTLED", "UNKNOWN_RESERVATION"];

/** Reservations are those of a gapless sequence. */
export class Reservations {
  readonly #caller: Caller;
  readonly #sequence: string;

  /** @internal Use Client.sequence. */
  constructor(caller: Caller, sequence: string) {
    this.#caller = caller;
    this.#sequence = sequence;
  }

  async reserve(keys: readonly string[], options: ReserveOptions): Promise<Reservation[]> {
    const { period } = options;
    const body = { sequence: this.#sequence, keys, ...(period === undefined ? {} : { period }) };
    const answer = await this.#caller.call(rules.reserveNumbers, { body }, options);
    const all = (list(answer, "reservations") as Json[]).map(reservationOf);
    if (all.length !== keys.length || all.some((r, i) => r.key !== keys[i])) {
      throw malformed(`${all.length} reservations for ${keys.length} keys, or of other keys`);
    }
    return all;
  }

  async confirm(claims: readonly Claim[], options: CallOptions): Promise<void> {
    await this.#caller.call(rules.confirmNumbers, { body: { sequence: this.#sequence, claims: claims.map(claimJson) } }, options);
  }

  async void(claims: readonly Claim[], reason: string, options: VoidOptions): Promise<void> {
    await this.#caller.call(rules.voidNumbers, {
      body: { sequence: this.#sequence, claims: claims.map(claimJson), reason, neverCommitted: options.neverCommitted ?? false },
    }, options);
  }

  async open(minAgeMs: number, options: CallOptions): Promise<Reservation[]> {
    if (!Number.isSafeInteger(minAgeMs) || minAgeMs < 0) {
      throw invalid(`age ${minAgeMs}: expected milliseconds, at least 0`);
    }
    const query = `sequence=${encodeURIComponent(this.#sequence)}&minAgeMs=${minAgeMs}&`;
    return (await this.#caller.all(rules.listReservations, "reservations", query, options)).map(reservationOf);
  }

  async reconcile(
    minAgeMs: number, resolve: (reservation: Reservation) => Resolution | Promise<Resolution>, options: CallOptions,
  ): Promise<Reconciled> {
    const done = { confirmed: 0, void: 0, left: 0, overtaken: 0 };
    for (const reservation of await this.open(minAgeMs, options)) {
      done[await this.#settle(reservation, await resolve(reservation), options)]++;
    }
    return done;
  }

  /** Does what a resolution says, and returns its counter. */
  async #settle(claim: Claim, resolution: Resolution, options: CallOptions): Promise<keyof Reconciled> {
    try {
      switch (resolution.fate) {
        case "used":
          await this.confirm([claim], options);
          return "confirmed";
        case "void":
          await this.void([claim], resolution.reason, { ...options, neverCommitted: resolution.neverCommitted });
          return "void";
        case "leave":
          return "left";
        default:
          throw invalid(`fate ${JSON.stringify((resolution as Resolution).fate)} of a resolution: expected used, void or leave`);
      }
    } catch (error) {
      if (SnowraftError.is(error) && overtaken.includes(error.reason)) {
        return "overtaken";
      }
      throw error;
    }
  }
}

function claimJson(claim: Claim): Json {
  return { key: claim.key, reservation: `${claim.reservation}`, attempt: claim.attempt };
}

function reservationOf(json: Json): Reservation {
  const fate = text(json, "fate");
  const reservation = uint64(json["reservation"], "reservation");
  const attempt = safe(json["attempt"], "attempt");
  const period = text(json, "period");
  if (fate !== "open" && fate !== "confirmed" || reservation === 0n || attempt < 1 || !/^(\d{4}-\d{2}-\d{2})?$/.test(period)) {
    throw malformed("a reservation that cannot be");
  }
  return {
    key: text(json, "key"), reservation, attempt, period,
    number: int64(json["number"], "number"),
    text: text(json, "text"),
    confirmed: fate === "confirmed",
    reservedAtMs: safe(json["reservedAtMs"], "reservedAtMs"),
    holder: text(json, "holder"),
  };
}
