// The driver of the conformance suite: one JSON request per line on stdin, one answer per line on stdout. See conformance/README.md.
import { createInterface } from "node:readline";
import { SnowraftError } from "snowraft";
import { ops, shutDown } from "./ops.mjs";

const pending = new Set();

function send(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** describe returns an error as the contract has it. */
function describe(error) {
  if (SnowraftError.is(error)) {
    return { reason: error.reason, message: error.message, retry: error.retry, unknown: error.unknown };
  }
  return { reason: "INTERNAL", message: String(error?.stack ?? error), retry: false, unknown: false };
}

async function serve({ id, op, args = {} }) {
  const run = Object.hasOwn(ops, op) ? ops[op] : undefined;
  if (run === undefined) {
    send({ id, error: { reason: "UNSUPPORTED", message: `unknown op ${op}`, retry: false, unknown: false } });
    return;
  }
  try {
    const { failed, ...ok } = await run(args, id);
    send(failed === undefined ? { id, ok } : { id, ...ok, error: describe(failed) }); // with the items before the error
  } catch (error) {
    send({ id, error: describe(error) });
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() !== "") {
    const served = serve(JSON.parse(line)).finally(() => pending.delete(served));
    pending.add(served);
  }
}
await shutDown();
await Promise.allSettled(pending);
process.exit(0);
