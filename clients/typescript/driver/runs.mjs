// Runs: many items, written to a file as 8 bytes each, big endian.
import { closeSync, openSync, writeSync } from "node:fs";
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { SnowraftError } from "snowraft";

/** The runs in progress, by the ID of their request. */
export const runs = new Map();

const chunkItems = 1024;
const retryPauseMs = 5;

/** startRun runs loops that take items until count items or ms are reached, or stopRun. The loops take turns on one thread. */
export async function startRun(id, args, take) {
  const run = { stopped: false, claimed: 0, issued: 0, errors: {}, lastError: undefined };
  runs.set(id, run);
  const file = args.file ? openSync(args.file, "a") : undefined;
  const until = args.ms === undefined ? Infinity : performance.now() + args.ms;
  const count = args.count ?? Infinity;
  try {
    await Promise.all(Array.from({ length: args.threads ?? 1 }, () => loop(run, take, count, until, file)));
  } finally {
    runs.delete(id);
    if (file !== undefined) {
      closeSync(file);
    }
  }
  return {
    issued: run.issued, errors: run.errors, ...(run.lastError === undefined ? {} : { last_error: run.lastError }),
  };
}

async function loop(run, take, count, until, file) {
  const bytes = Buffer.alloc(8 * chunkItems);
  let have = 0;
  const flush = () => {
    if (file !== undefined && have > 0) {
      writeSync(file, bytes, 0, 8 * have);
    }
    run.issued += have;
    have = 0;
  };
  try {
    while (!run.stopped && run.claimed < count && performance.now() < until) {
      run.claimed++;
      try {
        let item = take();
        if (typeof item !== "bigint") {
          item = await item;
        }
        bytes.writeBigInt64BE(item, 8 * have);
        if (++have === chunkItems) {
          flush();
          await turn();
        }
      } catch (error) {
        run.claimed--;
        const reason = SnowraftError.is(error) ? error.reason : "INTERNAL";
        run.errors[reason] = (run.errors[reason] ?? 0) + 1;
        run.lastError = error.message;
        if (!SnowraftError.is(error) || !error.retry) {
          return;
        }
        await pause(retryPauseMs);
      }
    }
  } finally {
    flush();
  }
}

/** stopRun ends a run; its own answer follows. */
export function stopRun(id) {
  const run = runs.get(id);
  if (run !== undefined) {
    run.stopped = true;
  }
  return {};
}
