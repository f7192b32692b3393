import { SnowraftError } from "./errors.js";
import { timeExhausted } from "./refusals.js";
import { list, safe, text, uint64, type Json } from "./wire.js";

/** Field is one of the parts of an ID. */
export type Field = "time" | "datacenter" | "worker" | "sequence";

/** FieldBits is a field of a layout and its width, 1 to 63 bits. */
export interface FieldBits {
  readonly kind: Field;
  readonly bits: number;
}

/** LayoutSpec describes a layout, as members return it. */
export interface LayoutSpec {
  /** 1 to 64 characters of a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit. */
  readonly name: string;
  /** From the highest bits to the lowest, at most 64 bits in all, or in the form "time:41,worker:10,sequence:12". */
  readonly fields: readonly FieldBits[] | string;
  /** Length of a tick in milliseconds, 1 to 3,600,000; the default is 1. */
  readonly unitMs?: number;
  /** Unix time of tick 0 in milliseconds. */
  readonly epochAtMs: number;
  /** Value of the datacenter field in every ID of the cluster; the default is 0. */
  readonly datacenter?: bigint;
  /** Number of sequences at which a fresh tick can start, by a hash of the tick; the default is a quarter of the field, at least 64. */
  readonly spread?: bigint;
  /** The workers are for programs that make IDs of their own. */
  readonly leaseOnly?: boolean;
}

/** Parts holds the values of an ID's fields. A field that is not in the layout is 0. */
export interface Parts {
  /** Ticks since the layout's epoch. */
  readonly tick: bigint;
  readonly datacenter: bigint;
  readonly worker: bigint;
  readonly sequence: bigint;
}

/** Decoded is an ID and its parts, as the members' DecodeId returns them. */
export interface Decoded extends Parts {
  readonly id: bigint;
  readonly layout: string;
  /** Start of the ID's tick, in Unix milliseconds. */
  readonly tickAtMs: number;
}

const kinds: readonly Field[] = ["time", "datacenter", "worker", "sequence"];
const longestUnitMs = 3_600_000;

function broken(message: string): SnowraftError {
  return new SnowraftError(`snowraft: invalid layout: ${message}`, { reason: "INVALID_ARGUMENT" });
}

function outOfRange(message: string): SnowraftError {
  return new SnowraftError(`snowraft: out of range: ${message}`, { reason: "INVALID_ARGUMENT" });
}

/** parseFields parses fields such as "time:41,worker:10,sequence:12". Each list has exactly one text. */
export function parseFields(from: string): FieldBits[] {
  const fields = from.split(",").map((part) => {
    const match = /^([a-z]+):([1-9][0-9]?)$/.exec(part);
    if (match === null || !kinds.includes(match[1] as Field)) {
      throw broken(`${JSON.stringify(part.slice(0, 64))}: expected a field and its width, such as "worker:10"`);
    }
    return { kind: match[1] as Field, bits: Number(match[2]) };
  });
  checkFields(fields);
  return fields;
}

function checkFields(fields: readonly FieldBits[]): void {
  const seen = new Set<Field>();
  let total = 0;
  for (const { kind, bits } of fields) {
    if (!kinds.includes(kind) || seen.has(kind)) {
      throw broken(`field ${kind}: expected ${kinds.join(", ")}, each at most once`);
    }
    if (!Number.isInteger(bits) || bits < 1 || bits > 63) {
      throw broken(`field ${kind} has ${bits} bits, expected 1 to 63`);
    }
    seen.add(kind);
    total += bits;
  }
  if (!seen.has("time")) {
    throw broken("no time field; add one, such as time:41");
  }
  if (total > 64) {
    throw broken(`${total} bits, expected at most 64`);
  }
}

/** Span is the position of a field within an ID. The span of an absent field has no bits. */
export interface Span {
  readonly shift: number;
  readonly bits: number;
}

/** Layout is a checked way to split the bits of an ID. It never changes. */
export class Layout {
  readonly name: string;
  readonly fields: readonly FieldBits[];
  readonly unitMs: number;
  readonly epochAtMs: number;
  readonly datacenter: bigint;
  readonly spread: bigint;
  readonly leaseOnly: boolean;
  /** Width of all fields together, 1 to 64. */
  readonly bits: number;
  readonly #spans: Readonly<Record<Field, Span>>;

  /** Throws a SnowraftError with the reason INVALID_ARGUMENT if the description is not that of a layout. */
  constructor(spec: LayoutSpec) {
    this.name = spec.name;
    this.fields = typeof spec.fields === "string" ? parseFields(spec.fields) : spec.fields.map((f) => ({ ...f }));
    this.unitMs = spec.unitMs ?? 1;
    this.epochAtMs = spec.epochAtMs;
    this.datacenter = spec.datacenter ?? 0n;
    this.leaseOnly = spec.leaseOnly ?? false;
    checkFields(this.fields);
    const spans: Record<Field, Span> = { time: none, datacenter: none, worker: none, sequence: none };
    let shift = 0;
    for (const { kind, bits } of [...this.fields].reverse()) {
      spans[kind] = { shift, bits };
      shift += bits;
    }
    this.bits = shift;
    this.#spans = spans;
    this.spread = spec.spread ?? (this.leaseOnly ? 0n : defaultSpread(spans.sequence.bits));
    this.#check();
  }

  #check(): void {
    if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(this.name)) {
      throw broken(`name ${JSON.stringify(this.name.slice(0, 65))}: ` +
        "expected 1 to 64 of a-z, 0-9 and, except at the start, '.', '_' and '-'");
    }
    if (!Number.isInteger(this.unitMs) || this.unitMs < 1 || this.unitMs > longestUnitMs) {
      throw broken(`tick of ${this.unitMs} ms, expected 1 to ${longestUnitMs} ms`);
    }
    if (!Number.isSafeInteger(this.epochAtMs)) {
      throw broken(`epoch ${this.epochAtMs}: expected whole milliseconds`);
    }
    if (this.datacenter < 0n || this.datacenter >= 1n << BigInt(this.span("datacenter").bits)) {
      throw broken(`datacenter ${this.datacenter} does not fit its field`);
    }
    if (this.spread < 0n || (this.spread > 1n && this.spread > this.sequences)) {
      throw broken(`spread ${this.spread} exceeds the sequence field, expected 0 to ${this.sequences}`);
    }
  }

  /** Returns the position of a field. */
  span(field: Field): Span {
    return this.#spans[field];
  }

  /** Number of ticks that the time field holds. */
  get ticks(): bigint {
    return capacity(this.span("time").bits);
  }

  /** Number of workers; 0 without the field. */
  get workers(): bigint {
    return capacity(this.span("worker").bits);
  }

  /** Number of IDs for each tick and worker; 0 without the field. */
  get sequences(): bigint {
    return capacity(this.span("sequence").bits);
  }

  /** Whether every ID is exact as a number of JavaScript. */
  get fitsNumber(): boolean {
    return this.bits <= 53;
  }

  /** Returns the parts of an ID. Throws if the ID has bits above those of the layout. */
  decode(id: bigint): Decoded {
    if (id < 0n || id >> BigInt(this.bits) !== 0n) {
      throw outOfRange(`ID ${id} in layout "${this.name}", expected 0 to ${capacity(this.bits) - 1n}`);
    }
    const of = (field: Field): bigint => {
      const { shift, bits } = this.span(field);
      return (id >> BigInt(shift)) & ((1n << BigInt(bits)) - 1n);
    };
    const tick = of("time");
    return {
      id, layout: this.name, tickAtMs: this.millisAt(tick), tick,
      datacenter: of("datacenter"), worker: of("worker"), sequence: of("sequence"),
    };
  }

  /** Returns the ID of its parts. Absent parts are 0, and the datacenter is that of the layout. Throws if a part does not fit its field. */
  encode(parts: Partial<Parts>): bigint {
    const values: Record<Field, bigint> = {
      time: parts.tick ?? 0n, datacenter: parts.datacenter ?? this.datacenter, worker: parts.worker ?? 0n, sequence: parts.sequence ?? 0n,
    };
    let id = 0n;
    for (const field of kinds) {
      const { shift, bits } = this.span(field);
      const value = values[field];
      if (value < 0n || value >> BigInt(bits) !== 0n) {
        throw outOfRange(`${field} ${value} in layout "${this.name}", expected 0 to ${(1n << BigInt(bits)) - 1n}`);
      }
      id |= value << BigInt(shift);
    }
    return id;
  }

  /** Returns the tick that contains an instant, in Unix milliseconds. It rounds down, and may be negative or beyond the time field. */
  tickAt(ms: number): bigint {
    return BigInt(Math.floor((ms - this.epochAtMs) / this.unitMs));
  }

  /** Returns the start of a tick in Unix milliseconds. */
  millisAt(tick: bigint): number {
    return Number(BigInt(this.epochAtMs) + tick * BigInt(this.unitMs));
  }

  /** Returns the layout as the API takes it. */
  toJSON(): Readonly<Record<string, unknown>> {
    return {
      name: this.name, fields: this.fields, unitMs: `${this.unitMs}`, epochAtMs: `${this.epochAtMs}`, datacenter: `${this.datacenter}`,
      spread: `${this.spread}`, leaseOnly: this.leaseOnly,
    };
  }

  /** Throws if this client cannot issue IDs of the layout at a time, in Unix milliseconds. */
  checkIssues(nowMs: number): void {
    const refuse = (why: string): never => {
      throw broken(`"${this.name}" ${why}`);
    };
    if (this.leaseOnly) {
      refuse("only leases workers; issue IDs from another layout");
    } else if (this.bits > 63) {
      refuse(`has ${this.bits} bits; a layout that issues IDs has at most 63`);
    } else if (this.sequences === 0n || this.workers === 0n) {
      refuse("has no sequence or no worker field; add one to issue IDs");
    } else if (this.fields[0]?.kind !== "time") {
      refuse("has another field above time; put time first, so that IDs sort by time");
    } else if (this.epochAtMs > nowMs) {
      refuse(`has its epoch at ${new Date(this.epochAtMs).toISOString()}, which is in the future`);
    } else if (BigInt(Math.floor((nowMs - this.epochAtMs) / this.unitMs)) >= this.ticks) {
      throw timeExhausted();
    }
  }
}

const none: Span = { shift: 0, bits: 0 };

function capacity(bits: number): bigint {
  return bits === 0 ? 0n : 1n << BigInt(bits);
}

function defaultSpread(bits: number): bigint {
  const all = capacity(bits);
  const quarter = all / 4n > 64n ? all / 4n : 64n;
  return all < quarter ? all : quarter;
}

/** layoutOf returns the layout of a member's answer. */
export function layoutOf(json: Json): Layout {
  return new Layout({
    name: text(json, "name"),
    fields: list(json, "fields").map((f) => ({ kind: text(f as Json, "kind") as Field, bits: safe((f as Json)["bits"], "bits") })),
    unitMs: safe(json["unitMs"], "unitMs"),
    epochAtMs: safe(json["epochAtMs"], "epochAtMs"),
    datacenter: uint64(json["datacenter"], "datacenter"),
    spread: uint64(json["spread"], "spread"),
    leaseOnly: json["leaseOnly"] === true,
  });
}
