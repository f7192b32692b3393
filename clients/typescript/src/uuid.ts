import { createHash } from "node:crypto";
import { SnowraftError } from "./errors.js";
import type { Layout } from "./layout.js";

/** Bits that version 7 leaves to the maker of a UUID. */
const payloadBits = 74n;

/**
 * toUuid returns an ID as a UUID of version 7, as the members' GenerateUuids makes it: the start of the ID's tick, its other
 * fields, and a tag that differs between clusters and layouts. clusterId is the ID of the cluster, a UUID.
 */
export function toUuid(layout: Layout, id: bigint, clusterId: string): string {
  const ms = BigInt(layout.decode(id).tickAtMs);
  if (ms < 0n || ms >> 48n !== 0n) {
    throw outOfRange(`ID ${id} of layout "${layout.name}" is from a time that is not in a UUID of version 7`);
  }
  const { shift, bits } = layout.span("time");
  const below = BigInt(shift);
  const rest = ((id >> BigInt(shift + bits)) << below) | (id & ((1n << below) - 1n));
  const room = tagBits(layout);
  const payload = (rest << room) | (tag(clusterId, layout.name) & ((1n << room) - 1n));
  const number = (ms << 80n) | (7n << 76n) | ((payload >> 62n) << 64n) | (2n << 62n) | (payload & ((1n << 62n) - 1n));
  return number.toString(16).padStart(32, "0").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** fromUuid returns the ID of a UUID that toUuid or a member made. It does not check the tag of the cluster. */
export function fromUuid(layout: Layout, uuid: string): bigint {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(uuid)) {
    throw new SnowraftError(
      `snowraft: invalid syntax: UUID ${JSON.stringify(uuid.slice(0, 64))}, expected one such as 01939b3c-6d00-7000-8000-0123456789ab`,
      { reason: "INVALID_ARGUMENT" },
    );
  }
  const number = BigInt(`0x${uuid.replaceAll("-", "")}`);
  if (((number >> 76n) & 15n) !== 7n || ((number >> 62n) & 3n) !== 2n) {
    throw outOfRange(`UUID ${uuid} is not of version 7`);
  }
  const since = (number >> 80n) - BigInt(layout.epochAtMs);
  const unit = BigInt(layout.unitMs);
  const tick = since / unit;
  if (since < 0n || tick >= layout.ticks || since % unit !== 0n) {
    throw outOfRange(`the time of UUID ${uuid} is not the start of a tick of layout "${layout.name}"`);
  }
  const payload = (((number >> 64n) & 0xfffn) << 62n) | (number & ((1n << 62n) - 1n));
  const rest = payload >> tagBits(layout);
  const { shift, bits } = layout.span("time");
  const below = BigInt(shift);
  return ((rest >> below) << BigInt(shift + bits)) | (tick << below) | (rest & ((1n << below) - 1n));
}

/** tagBits returns how many of the payload's bits are left for the tag. */
function tagBits(layout: Layout): bigint {
  return payloadBits - BigInt(layout.bits - layout.span("time").bits);
}

function tag(cluster: string, layout: string): bigint {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(Buffer.byteLength(cluster)));
  const sum = createHash("sha256").update("snowraft uuid v7\0").update(length).update(cluster).update(layout).digest();
  return (BigInt(sum.readUInt16BE(0) >> 6) << 64n) | sum.readBigUInt64BE(2);
}

function outOfRange(message: string): SnowraftError {
  return new SnowraftError(`snowraft: out of range: ${message}`, { reason: "INVALID_ARGUMENT" });
}
