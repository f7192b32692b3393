/** Field is a field of a model, as Prisma Client knows it at run time. */
interface Field {
  readonly name: string;
  readonly kind: string;
  readonly type: string;
}

/** Key is a field that gets an ID. */
export interface Key {
  readonly name: string;
  /** Whether the field is a String instead of a BigInt. */
  readonly text: boolean;
}

/** Schema holds the fields that get IDs, and the relations, of each model. */
export class Schema {
  readonly #models: ReadonlyMap<string, readonly Field[]>;
  readonly #keys: ReadonlyMap<string, readonly Key[]>;

  /** Throws if client is not one of Prisma 7, or if fields names an unknown field or one that cannot hold an ID. */
  constructor(client: unknown, fields: Readonly<Record<string, string | readonly string[]>> | undefined) {
    const models = (client as RuntimeClient)._runtimeDataModel?.models;
    if (models === undefined) {
      throw new TypeError("snowraft-prisma: the client has no data model; expected a client of Prisma 7");
    }
    this.#models = new Map(Object.entries(models).map(([name, model]) => [name, model.fields]));
    this.#keys = fields === undefined ? this.#usualKeys() : this.#namedKeys(fields);
  }

  /** keys returns the fields of a model that get an ID. */
  keys(model: string): readonly Key[] {
    return this.#keys.get(model) ?? [];
  }

  /** relations returns the names of the relations of a model, with the models to which they lead. */
  relations(model: string): ReadonlyMap<string, string> {
    const relations = this.#fields(model).filter((field) => field.kind === "object");
    return new Map(relations.map((field) => [field.name, field.type]));
  }

  /** has reports whether a model has a field of that name. */
  has(model: string, name: string): boolean {
    return this.#fields(model).some((field) => field.name === name);
  }

  #fields(model: string): readonly Field[] {
    return this.#models.get(model) ?? [];
  }

  #usualKeys(): Map<string, Key[]> {
    const keys = new Map<string, Key[]>();
    for (const [model, fields] of this.#models) {
      if (fields.some((field) => field.name === "id" && field.type === "BigInt")) {
        keys.set(model, [{ name: "id", text: false }]);
      }
    }
    return keys;
  }

  #namedKeys(named: Readonly<Record<string, string | readonly string[]>>): Map<string, Key[]> {
    return new Map(Object.entries(named).map(([model, names]) => [model, [names].flat().map((name) => this.#key(model, name))]));
  }

  #key(model: string, name: string): Key {
    const type = this.#fields(model).find((field) => field.name === name && field.kind === "scalar")?.type;
    if (type !== "BigInt" && type !== "String") {
      throw new TypeError(`snowraft-prisma: field ${model}.${name}: expected a field of type BigInt or String`);
    }
    return { name, text: type === "String" };
  }
}

/** RuntimeClient is the part of Prisma Client that holds the data model. Prisma has no public name for it. */
interface RuntimeClient {
  readonly _runtimeDataModel?: { readonly models: Readonly<Record<string, { readonly fields: readonly Field[] }>> };
}
