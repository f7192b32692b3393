import { SnowraftError } from "./errors.js";

/** Json is an object of a member's answer, whose fields are not checked yet. */
export type Json = Readonly<Record<string, unknown>>;

const decimal = /^-?[0-9]{1,20}$/;

/** malformed returns the error of an answer that breaks the protocol. */
export function malformed(what: string): SnowraftError {
  return new SnowraftError(
    `snowraft: invalid response of a member: ${what}; discarded, please report it with the versions of client and member`,
    { reason: "INTERNAL", unknown: true },
  );
}

/** object returns a field that is an object; empty if it is absent. */
export function object(from: Json, name: string): Json {
  const value = from[name];
  if (value === undefined || value === null) {
    return {};
  }
  if (typeof value !== "object" || Array.isArray(value)) {
    throw malformed(`${name} is no object`);
  }
  return value as Json;
}

/** list returns a field that is an array; empty if it is absent. */
export function list(from: Json, name: string): readonly unknown[] {
  const value = from[name] ?? [];
  if (!Array.isArray(value)) {
    throw malformed(`${name} is no array`);
  }
  return value;
}

/** text returns a field that is a string; empty if it is absent. */
export function text(from: Json, name: string): string {
  const value = from[name] ?? "";
  if (typeof value !== "string") {
    throw malformed(`${name} is no string`);
  }
  return value;
}

/** int64 returns a signed 64-bit number, sent as a string; 0 if it is absent. */
export function int64(value: unknown, name: string): bigint {
  const n = integer(value, name);
  if (BigInt.asIntN(64, n) !== n) {
    throw malformed(`${name} exceeds 64 bits`);
  }
  return n;
}

/** uint64 returns an unsigned 64-bit number, sent as a string; 0 if it is absent. */
export function uint64(value: unknown, name: string): bigint {
  const n = integer(value, name);
  if (BigInt.asUintN(64, n) !== n) {
    throw malformed(`${name} is not an unsigned number of 64 bits`);
  }
  return n;
}

/** safe returns a number that JavaScript represents exactly, sent as a string or a number; 0 if it is absent. */
export function safe(value: unknown, name: string): number {
  const n = Number(integer(value, name));
  if (!Number.isSafeInteger(n)) {
    throw malformed(`${name} exceeds 53 bits`);
  }
  return n;
}

function integer(value: unknown, name: string): bigint {
  if (value === undefined || value === null) {
    return 0n;
  }
  if (typeof value === "string" && decimal.test(value)) {
    return BigInt(value);
  }
  if (typeof value === "number" && Number.isSafeInteger(value)) {
    return BigInt(value);
  }
  throw malformed(`${name} is no whole number`);
}
