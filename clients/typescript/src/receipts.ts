import type { Json } from "./wire.js";

const size = 97; // version, fingerprint, position and MAC
const positionAt = 5;
const lifeAt = positionAt + 16;

/** Receipts keeps the latest receipt that members handed out, and brings it back: a cluster that was set back learns from it. */
export class Receipts {
  #text = "";
  #bytes: Buffer | undefined;

  /** Takes the receipt of an answer, if it has one that is later. */
  keep(answer: Json): void {
    const text = answer["receipt"];
    if (typeof text !== "string" || text.length > 2 * size || text === this.#text) {
      return;
    }
    const bytes = Buffer.from(text, "base64");
    if (bytes.length !== size || bytes[0] !== 1 || (this.#bytes !== undefined && !follows(bytes, this.#bytes))) {
      return;
    }
    this.#text = text;
    this.#bytes = bytes;
  }

  /** Returns the headers with which a request brings the receipt back; empty at first: it asks for one. */
  headers(): Readonly<Record<string, string>> {
    return { "Snowraft-Receipt": this.#text };
  }
}

/** follows reports whether a takes the place of b: it is of a later life, of the same life at a later index, or of another cluster. */
function follows(a: Buffer, b: Buffer): boolean {
  const order = a.readUInt32BE(lifeAt) - b.readUInt32BE(lifeAt);
  if (order !== 0) {
    return order > 0;
  }
  return !a.subarray(positionAt, lifeAt).equals(b.subarray(positionAt, lifeAt)) ||
    a.readBigUInt64BE(lifeAt + 4) > b.readBigUInt64BE(lifeAt + 4);
}
