import { invalid } from "./errors.js";

const digits = "abcdefghijklmnopqrstuvwxyz234567";

/** pinLength is the length of the text of a pin: 32 bytes in base32 without padding. */
export const pinLength = 52;

/** base32 returns bytes in lower-case base32 (RFC 4648) without padding. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) {
      text += digits[(held >>> (bits - 5)) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return bits > 0 ? text + digits[(held << (5 - bits)) & 31] : text;
}

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const digit of text) {
    held = (held << 5) | digits.indexOf(digit);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = held >>> bits;
      held &= (1 << bits) - 1;
    }
  }
  return bytes;
}

/** crc32c returns the checksum of bytes with the polynomial of Castagnoli. */
function crc32c(bytes: Uint8Array): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
    }
  }
  return ~sum >>> 0;
}

/** checkPin throws unless a text has the form of a pin. The last character holds one bit. */
export function checkPin(pin: string): void {
  if (!/^[a-z2-7]{51}[aq]$/.test(pin)) {
    throw invalid(`pin: expected ${pinLength} characters of a to z and 2 to 7`);
  }
}

/** pinOfToken checks the form of a token and returns its pin; empty without one. Errors do not contain the token. */
export function pinOfToken(token: string): string {
  const parts = token.split("_");
  if ((parts.length !== 3 && parts.length !== 4) || parts[0] !== "snowraft") {
    throw invalid("not a Snowraft token: expected snowraft_ID_SECRET or snowraft_ID_SECRET_PIN");
  }
  const [, id = "", secret = "", pin = ""] = parts;
  if (!/^[1-9][0-9]{0,19}$/.test(id) || BigInt(id) >> 64n !== 0n) {
    throw invalid("token: expected a decimal ID of at least 1 after the first _");
  }
  if (!/^[a-z2-7]{51}[aq][a-z2-7]{7}$/.test(secret)) {
    throw invalid("token: secret: expected 59 characters of a to z and 2 to 7; copy the whole token again");
  }
  const summed = Buffer.alloc(8 + 32);
  summed.writeBigUInt64BE(BigInt(id));
  summed.set(bytesOf(secret.slice(0, pinLength)), 8);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32c(summed));
  if (base32(checksum) !== secret.slice(pinLength)) {
    throw invalid("token: the checksum does not match; copy the whole token again");
  }
  if (parts.length === 4) {
    checkPin(pin);
  }
  return pin;
}
