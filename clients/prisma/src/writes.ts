import type { Key, Schema } from "./schema.js";

type Data = Record<string, unknown>;

/** Slot is a place in the arguments of an operation that needs an ID. */
export interface Slot {
  readonly row: Data;
  readonly key: Key;
}

/** Writes finds the rows that one operation creates, also in nested writes. It changes copies only. */
export class Writes {
  /** The places that need an ID, in the copies. */
  readonly slots: Slot[] = [];
  readonly #schema: Schema;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** copy returns the arguments of an operation on a model, with a copy of each row in {@link slots}. */
  copy(model: string, operation: string, args: Data | undefined): Data | undefined {
    switch (operation) {
      case "create":
        return { ...args, data: this.#created(model, args?.["data"] ?? {}) };
      case "createMany":
      case "createManyAndReturn":
        return { ...args, data: this.#created(model, args?.["data"]) };
      case "update":
        return { ...args, data: this.#related(model, args?.["data"]) };
      case "upsert":
        return this.#upsert(model, args);
      default:
        return args;
    }
  }

  #created(model: string, rows: unknown): unknown {
    return each(rows, (data) => {
      const row = this.#related(model, data) as Data;
      for (const key of this.#schema.keys(model)) {
        if (row[key.name] === undefined) {
          this.slots.push({ row, key });
        }
      }
      return row;
    });
  }

  #upsert(model: string, args: unknown): Data {
    const { create, update, ...rest } = args as Data;
    return { ...rest, create: this.#created(model, create), update: this.#related(model, update) };
  }

  /** Copies the data of one row with its nested writes. */
  #related(model: string, data: unknown): unknown {
    if (!isObject(data)) {
      return data;
    }
    const copy = { ...data };
    for (const [name, target] of this.#schema.relations(model)) {
      const write = copy[name];
      if (isObject(write)) {
        copy[name] = this.#nested(target, write);
      }
    }
    return copy;
  }

  #nested(model: string, write: Data): Data {
    const copy = { ...write };
    for (const [verb, value] of Object.entries(write)) {
      switch (verb) {
        case "create":
          copy[verb] = this.#created(model, value);
          break;
        case "createMany":
          copy[verb] = each(value, (many) => ({ ...many, data: this.#created(model, many["data"]) }));
          break;
        case "connectOrCreate":
          copy[verb] = each(value, (one) => ({ ...one, create: this.#created(model, one["create"]) }));
          break;
        case "upsert":
          copy[verb] = each(value, (one) => this.#upsert(model, one));
          break;
        case "update":
          copy[verb] = each(value, (one) => this.#updated(model, one));
          break;
      }
    }
    return copy;
  }

  /** Copies a nested update: the data of a row, or an object with its condition and its data. */
  #updated(model: string, update: Data): unknown {
    const wrapped = isObject(update["data"]) && ("where" in update || !this.#schema.has(model, "data"));
    return wrapped ? { ...update, data: this.#related(model, update["data"]) } : this.#related(model, update);
  }
}

function isObject(value: unknown): value is Data {
  return typeof value === "object" && value !== null;
}

/** each applies a function to an object, or to each object of a list. Other values stay. */
function each(value: unknown, apply: (data: Data) => unknown): unknown {
  const one = (item: unknown): unknown => (isObject(item) ? apply(item) : item);
  return Array.isArray(value) ? value.map(one) : one(value);
}
