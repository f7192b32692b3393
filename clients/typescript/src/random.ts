import { randomBytes } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

/**
 * osRandom returns random bytes of the operating system. The generator of OpenSSL keeps its state in memory, which a copy of
 * this process, such as a snapshot of a virtual machine, would share.
 */
export function osRandom(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let file: number;
  try {
    file = openSync("/dev/urandom", "r");
  } catch {
    return randomBytes(size); // Windows
  }
  try {
    for (let have = 0; have < size;) {
      have += readSync(file, bytes, have, size - have, null);
    }
  } finally {
    closeSync(file);
  }
  return bytes;
}

/** drawExtension returns a random number, not 0, for an extension and its repetitions. */
export function drawExtension(): string {
  for (;;) {
    const id = osRandom(8).readBigUInt64BE();
    if (id !== 0n) {
      return id.toString();
    }
  }
}
