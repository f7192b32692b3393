import { Prisma } from "@prisma/client/extension";
import type { Generator } from "snowraft";
import { slotsOf, type Slot } from "./rows.js";
import { schemaOf, type Fields } from "./schema.js";

/** SnowraftOptions are the options of {@link snowraft}. */
export interface SnowraftOptions {
  /**
   * The fields that get IDs, by the names of their models, of type BigInt or String. The default is the field `id` of each model
   * where that is a BigInt.
   */
  fields?: Fields | undefined;
}

/**
 * snowraft returns an extension of Prisma Client that gives each created row an ID of the generator, unless the row has one:
 * in create, createMany, createManyAndReturn and upsert, and in nested writes of these operations and of update.
 *
 * IDs come from memory. If there are none, an operation waits for at most the time limit of the client, and then rejects with the
 * SnowraftError.
 */
export function snowraft(generator: Generator, options: SnowraftOptions = {}) {
  return Prisma.defineExtension((client) => {
    const schema = schemaOf(client, options.fields);
    return client.$extends({
      name: "snowraft",
      query: {
        $allModels: {
          $allOperations({ model, operation, args, query }) {
            // The arguments are Prisma's own copy.
            const slots = slotsOf(schema, model, operation, args as Record<string, unknown>);
            return slots.length === 0 ? query(args) : fill(slots, generator).then(() => query(args));
          },
        },
      },
    });
  });
}

async function fill(slots: readonly Slot[], generator: Generator): Promise<void> {
  for (const { row, key } of slots) {
    const id = await next(generator);
    row[key.name] = key.text ? id.toString() : id;
  }
}

/** next returns an ID at once, or a promise if none is in memory. */
function next(generator: Generator): bigint | Promise<bigint> {
  try {
    return generator.next();
  } catch {
    return generator.nextAsync(); // rejects with the reason if waiting does not help
  }
}
