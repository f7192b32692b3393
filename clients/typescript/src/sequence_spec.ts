import type { CallOptions } from "./caller.js";
import { int64, text, uint64, type Json } from "./wire.js";

/** SequenceSettings are the settings of a sequence. Absent ones have their defaults. */
export interface SequenceSettings {
  /**
   * strict: the leader issues the numbers in order; relaxed: every member issues them from blocks; gapless: each number is reserved for
   * a key, and accounted for. The default is strict.
   */
  mode?: "strict" | "relaxed" | "gapless" | undefined;
  /** First number of each period; the default is 1, or -1 with a negative increment. */
  start?: bigint | undefined;
  /** Difference between adjacent numbers, not 0; the default is 1. */
  increment?: bigint | undefined;
  /** All numbers lie in [min, max]. */
  min?: bigint | undefined;
  max?: bigint | undefined;
  /** Period after which the numbers start over; the default is none. */
  reset?: "none" | "daily" | "weekly" | "monthly" | "quarterly" | "yearly" | undefined;
  /** Day on which years and their quarters start, such as "04-01" with a day of 01 to 28; the default is "01-01". */
  yearStarts?: string | undefined;
  /** Time after the end of a period in which its numbers can still be requested, 1,000 to 31,622,400,000 ms; the default is none. */
  lateMs?: number | undefined;
  /** IANA time zone in which periods begin; the default is UTC. */
  timeZone?: string | undefined;
  /** Format of texts, such as "ORD{date:yyyyMMdd}{seq:06}"; empty for none. */
  format?: string | undefined;
  /** Text for people, at most 256 bytes. */
  description?: string | undefined;
  /** Time that a block should last, 100 to 3,600,000 ms; the default is 10,000. Relaxed sequences only. */
  blockDurationMs?: number | undefined;
  /** Bounds of the count of a block's numbers, 1 to 100,000,000. */
  minBlock?: number | undefined;
  maxBlock?: number | undefined;
  /** Reserve void numbers again that were never committed. Gapless sequences only. */
  reuse?: boolean | undefined;
}

/** SequenceSpec describes a new sequence. */
export interface SequenceSpec extends SequenceSettings {
  /** 1 to 128 bytes without spaces. */
  name: string;
}

/** ChangeOptions are the options of a change of a sequence. */
export interface ChangeOptions extends CallOptions {
  /** Change the sequence even if numbers may repeat. */
  force?: boolean | undefined;
  /** Accept a format that may repeat texts. */
  forceFormat?: boolean | undefined;
  /** Generation that the sequence must have; otherwise the call fails with GENERATION_MISMATCH. */
  expectedGeneration?: bigint | undefined;
}

/** SequenceInfo is the state of a sequence. */
export interface SequenceInfo {
  readonly name: string;
  readonly mode: "strict" | "relaxed" | "gapless";
  readonly start: bigint;
  readonly increment: bigint;
  readonly min: bigint;
  readonly max: bigint;
  readonly reset: string;
  /** Day on which years and their quarters start; empty means "01-01". */
  readonly yearStarts: string;
  readonly timeZone: string;
  readonly format: string;
  readonly description: string;
  /** Increases with each change of the sequence. */
  readonly generation: bigint;
  /** First day of the current period; empty without a reset. */
  readonly period: string;
  /** The next number of this period; undefined if none is left. */
  readonly next: bigint | undefined;
  readonly remaining: bigint;
  /** Open reservations of a gapless sequence, and numbers that a restore left unknown, in all periods. */
  readonly openReservations: bigint;
  readonly unknownNumbers: bigint;
  /** The sequence grants nothing until it is resumed after a restore. */
  readonly frozen: boolean;
}

/** settingsJson returns settings as the API takes them. Only those that are set are there. */
export function settingsJson(settings: SequenceSettings): Json {
  return Object.fromEntries(Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, typeof value === "bigint" ? value.toString() : value as unknown]));
}

/** sequenceInfo returns the state of a sequence of an answer. */
export function sequenceInfo(json: Json): SequenceInfo {
  return {
    name: text(json, "name"),
    mode: modeOf(text(json, "mode")),
    start: int64(json["start"], "start"),
    increment: int64(json["increment"], "increment"),
    min: int64(json["min"], "min"),
    max: int64(json["max"], "max"),
    reset: text(json, "reset"),
    yearStarts: text(json, "yearStarts"),
    timeZone: text(json, "timeZone"),
    format: text(json, "format"),
    description: text(json, "description"),
    generation: uint64(json["generation"], "generation"),
    period: text(json, "period"),
    next: json["next"] === undefined ? undefined : int64(json["next"], "next"),
    remaining: uint64(json["remaining"], "remaining"),
    openReservations: uint64(json["openReservations"], "openReservations"),
    unknownNumbers: uint64(json["unknownNumbers"], "unknownNumbers"),
    frozen: json["frozen"] === true,
  };
}

function modeOf(word: string): SequenceInfo["mode"] {
  return word === "relaxed" || word === "gapless" ? word : "strict";
}
