import type { Key, Schema } from "./schema.js";

type Data = Record<string, unknown>;

/** Slot is a field of a created row that needs an ID. */
export interface Slot {
  readonly row: Data;
  readonly key: Key;
}

/** slotsOf returns the fields that need an ID in the arguments of an operation on a model, also in nested writes. */
export function slotsOf(schema: Schema, model: string, operation: string, args: Data): readonly Slot[] {
  const rows = new Rows(schema);
  rows.operation(model, operation, args);
  return rows.slots;
}

class Rows {
  readonly slots: Slot[] = [];
  readonly #schema: Schema;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  operation(model: string, operation: string, args: Data): void {
    switch (operation) {
      case "create":
        this.#created(model, args["data"] ??= {}); // a model whose fields are all optional
        break;
      case "createMany":
      case "createManyAndReturn":
        this.#created(model, args["data"]);
        break;
      case "update":
        this.#written(model, args["data"]);
        break;
      case "upsert":
        this.#upserted(model, args);
        break;
    }
  }

  #created(model: string, rows: unknown): void {
    for (const row of objects(rows)) {
      for (const key of this.#schema.get(model)?.keys ?? []) {
        if (row[key.name] === undefined) {
          this.slots.push({ row, key });
        }
      }
      this.#written(model, row);
    }
  }

  #upserted(model: string, args: Data): void {
    this.#created(model, args["create"]);
    this.#written(model, args["update"]);
  }

  /** Visits the nested writes in the data of a row. */
  #written(model: string, data: unknown): void {
    for (const row of objects(data)) {
      for (const { name, target } of this.#schema.get(model)?.relations ?? []) {
        for (const write of objects(row[name])) {
          this.#nested(target, write);
        }
      }
    }
  }

  #nested(model: string, write: Data): void {
    this.#created(model, write["create"]);
    for (const many of objects(write["createMany"])) {
      this.#created(model, many["data"]);
    }
    for (const args of objects(write["connectOrCreate"])) {
      this.#created(model, args["create"]);
    }
    for (const args of objects(write["upsert"])) {
      this.#upserted(model, args);
    }
    for (const update of objects(write["update"])) {
      // An update of a single row may omit the condition, and then also the name of the data.
      const named = "where" in update || !this.#schema.get(model)?.hasData;
      this.#written(model, named && "data" in update ? update["data"] : update);
    }
  }
}

/** objects returns an object, or the objects of a list. */
function objects(value: unknown): Data[] {
  return [value].flat().filter((item) => typeof item === "object" && item !== null) as Data[];
}
