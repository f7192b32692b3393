import { SnowraftError } from "./errors.js";

/** Encoding is a way to write an ID as text: a number in some base, without padding. Texts of equal length sort as IDs do. */
export type Encoding = "dec" | "hex" | "base32" | "base36" | "base58" | "base62";

const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();

const alphabets: Readonly<Record<Encoding, string>> = {
  dec: "0123456789",
  hex: "0123456789abcdef",
  base32: "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
  base36: `0123456789${lower}`,
  base58: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
  base62: `0123456789${upper}${lower}`,
};

/** Further digits that decoding reads, with the digits that they stand for. */
const aliases: Readonly<Record<Encoding, readonly [string, string]>> = {
  dec: ["", ""],
  hex: ["ABCDEF", "abcdef"],
  base32: ["abcdefghjkmnpqrstvwxyzOoIiLl", "ABCDEFGHJKMNPQRSTVWXYZ001111"],
  base36: [upper, lower],
  base58: ["", ""],
  base62: ["", ""],
};

/** encodings holds all encodings, from the smallest base to the largest. */
export const encodings = Object.keys(alphabets) as readonly Encoding[];

const mostCharacters = 64;

function alphabetOf(encoding: Encoding): string {
  if (!Object.hasOwn(alphabets, encoding)) {
    throw unreadable(`unknown encoding ${JSON.stringify(encoding)}, expected ${encodings.join(", ")}`);
  }
  return alphabets[encoding];
}

function unreadable(message: string): SnowraftError {
  return new SnowraftError(`snowraft: invalid syntax: ${message}`, { reason: "INVALID_ARGUMENT" });
}

/** encodeText returns an ID, 0 to 2^64-1, as text. */
export function encodeText(id: bigint, encoding: Encoding): string {
  const digits = alphabetOf(encoding);
  if (BigInt.asUintN(64, id) !== id) {
    throw new SnowraftError(`snowraft: out of range: ID ${id}, expected 0 to 2^64-1`, { reason: "INVALID_ARGUMENT" });
  }
  const base = BigInt(digits.length);
  let text = "";
  do {
    text = (digits[Number(id % base)] as string) + text;
    id /= base;
  } while (id > 0n);
  return text;
}

/** decodeText returns the ID of a text of 1 to 64 digits, without sign or space. Leading zeros are accepted, and 0x before hex. */
export function decodeText(text: string, encoding: Encoding): bigint {
  const digits = alphabetOf(encoding);
  const [from, to] = aliases[encoding];
  if (text.length > mostCharacters) {
    throw unreadable(`ID of ${text.length} characters, expected at most ${mostCharacters}`);
  }
  const rest = encoding === "hex" ? text.replace(/^0[xX]/, "") : text;
  if (rest === "") {
    throw unreadable(`ID ${JSON.stringify(text)} has no digits`);
  }
  const base = BigInt(digits.length);
  let id = 0n;
  for (const character of rest) {
    const alias = from.indexOf(character);
    const value = digits.indexOf(alias < 0 ? character : (to[alias] as string));
    if (value < 0) {
      throw unreadable(`${JSON.stringify(character)} of ID ${JSON.stringify(text)} is not a ${encoding} digit, expected ${digits}`);
    }
    id = id * base + BigInt(value);
  }
  if (id >> 64n !== 0n) {
    throw new SnowraftError(`snowraft: out of range: ID ${JSON.stringify(text)} in ${encoding} exceeds 64 bits`, {
      reason: "INVALID_ARGUMENT",
    });
  }
  return id;
}
