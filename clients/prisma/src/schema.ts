/** Key is a field that gets an ID. */
export interface Key {
  readonly name: string;
  /** Whether the field is a String instead of a BigInt. */
  readonly text: boolean;
}

/** Model is a model of the schema of Prisma. */
export interface Model {
  readonly keys: readonly Key[];
  /** The relations, with the models to which they lead. */
  readonly relations: readonly { readonly name: string; readonly target: string }[];
  /** Whether the model has a field with the name "data", as arguments have. */
  readonly hasData: boolean;
}

/** Schema holds the models by their names. */
export type Schema = ReadonlyMap<string, Model>;

/** Fields names fields by their models. */
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/**
 * schemaOf returns the schema of a client. Without fields, the keys are the fields "id" of type BigInt. It throws if client is not one
 * of Prisma 7, or if fields names an unknown field or one that cannot hold an ID.
 */
export function schemaOf(client: unknown, fields: Fields | undefined): Schema {
  const models = (client as RuntimeClient)._runtimeDataModel?.models;
  if (models === undefined) {
    throw new TypeError("snowraft-prisma: the client has no data model; expected a client of Prisma 7");
  }
  for (const [model, names] of Object.entries(fields ?? {})) {
    for (const name of [names].flat()) {
      if (!models[model]?.fields.some((field) => field.name === name && ["BigInt", "String"].includes(field.type))) {
        throw new TypeError(`snowraft-prisma: field ${model}.${name}: expected a field of type BigInt or String`);
      }
    }
  }
  return new Map(Object.entries(models).map(([model, { fields: all }]) => {
    const named = [fields?.[model] ?? []].flat();
    const isKey = (field: Field) => fields === undefined ? field.name === "id" && field.type === "BigInt" : named.includes(field.name);
    return [model, {
      keys: all.filter(isKey).map((field) => ({ name: field.name, text: field.type === "String" })),
      relations: all.filter((field) => field.kind === "object").map((field) => ({ name: field.name, target: field.type })),
      hasData: all.some((field) => field.name === "data"),
    }];
  }));
}

/** Field is a field of a model, as Prisma Client knows it at run time. */
interface Field {
  readonly name: string;
  readonly kind: string;
  readonly type: string;
}

/** RuntimeClient is the part of Prisma Client that holds the data model. Prisma has no public name for it. */
interface RuntimeClient {
  readonly _runtimeDataModel?: { readonly models: Readonly<Record<string, { readonly fields: readonly Field[] }>> };
}
