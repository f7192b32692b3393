// The operations of the contract. An operation returns its result; "failed" is an error after a part of it.
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client, Layout, SnowraftError, decodeText, preset, version } from "snowraft";
import { reservationOps } from "./reservations.mjs";
import { runs, startRun, stopRun } from "./runs.mjs";
import { issueInWorkers } from "./workers.mjs";

const clients = new Map();
const closings = new Map();
const generators = new Map();
const buffers = new Map();
const blocks = new Map();
const clocks = new Map();

/** find returns the object of a name. */
export function find(map, name) {
  const object = map.get(name);
  if (object === undefined) {
    throw new SnowraftError(`unknown name ${JSON.stringify(name)}`, { reason: "INVALID_ARGUMENT" });
  }
  return object;
}

/** clockOf returns an injected clock, which stands still between settings. */
function clockOf(name) {
  let clock = clocks.get(name);
  if (clock === undefined) {
    const state = { wall: Date.now(), monotonic: 0 };
    clock = { state, wall: () => state.wall, monotonic: () => state.monotonic };
    clocks.set(name, clock);
  }
  return clock;
}

function presetOf(name) {
  return preset(name) ?? (() => { throw new SnowraftError(`unknown preset ${name}`, { reason: "INVALID_ARGUMENT" }); })();
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

const big = (value) => (value === undefined ? undefined : BigInt(value));
const timed = (args) => ({ timeoutMs: args.timeout_ms });
const layered = (args) => ({ timeoutMs: args.timeout_ms, layout: args.layout });

/** collect takes count items one by one, and keeps those before an error. */
async function collect(count, take) {
  const items = [];
  try {
    while (items.length < count) {
      items.push(await take());
    }
  } catch (failed) {
    return { items, failed };
  }
  return { items };
}

export const ops = {
  hello: () => ({
    client: "typescript", version, runtime: `node ${process.version}`,
    features: ["direct", "generator", "buffer", "strict", "relaxed", "offline", "clock", "uuid", "workers"],
  }),

  open: (args) => {
    clients.set(args.client, new Client({
      addresses: args.addresses,
      token: args.token || undefined,
      pin: args.pin || undefined,
      caFile: args.ca || undefined,
      timeoutMs: args.timeout_ms,
      logger: { info: (message) => console.error(message), warn: (message) => console.error(message) },
    }));
    closings.delete(args.client);
    return {};
  },
  close: async (args) => {
    if (args.generator !== undefined) {
      await find(generators, args.generator).generator.close();
    } else if (args.buffer !== undefined) {
      await find(buffers, args.buffer).close();
    } else if (args.blocks !== undefined) {
      await find(blocks, args.blocks).close();
    } else {
      await closeClient(args.client);
    }
    return {};
  },
  memory: () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return { used: `${heapUsed + external}` };
  },

  ids: async (args) => {
    const client = find(clients, args.client);
    const after = big(args.after);
    const ids = after === undefined
      ? client.ids(args.count, layered(args)) : client.session({ ...layered(args), after }).batch(args.count);
    return { ids: (await ids).map(String) };
  },
  uuids: async (args) => ({ uuids: await find(clients, args.client).uuids(args.count, layered(args)) }),

  generator: async (args) => {
    const generator = find(clients, args.client).generator({
      layout: args.layout, lanes: args.lanes, clock: args.clock === undefined ? undefined : clockOf(args.clock),
    });
    generators.set(args.generator, { generator, waits: args.clock === undefined });
    await (args.clock === undefined ? ready(generator, args) : windows(generator, args));
    return {};
  },
  ready: async (args) => {
    await ready(find(generators, args.generator).generator, args);
    return {};
  },
  next: async (args) => {
    const { generator, waits } = find(generators, args.generator);
    const { items, failed } = await collect(args.count, () => nextOf(generator, waits, big(args.after)));
    return { ids: items.map(String), failed };
  },
  status: (args) => {
    const { state, problem, workers } = find(generators, args.generator).generator.status();
    return {
      state,
      reason: problem?.reason,
      workers: workers.map((w) => ({
        worker: `${w.worker}`, from_tick: `${w.fromTick}`, until_tick: `${w.untilTick}`,
        last_tick: w.lastTick === undefined ? undefined : `${w.lastTick}`,
      })),
    };
  },

  buffer: async (args) => {
    const buffer = find(clients, args.client).buffer({ layout: args.layout, size: args.size });
    buffers.set(args.buffer, buffer);
    await buffer.ready({ timeoutMs: args.ready_ms ?? 10_000 });
    return {};
  },
  take: async (args) => {
    const buffer = find(buffers, args.buffer);
    const { items, failed } = await collect(args.count, () => buffer.nextAsync());
    return { ids: items.map(String), failed };
  },

  create: async (args) => {
    await find(clients, args.client).createSequence({
      name: args.sequence, mode: args.mode,
      start: big(args.start), increment: big(args.step), format: args.format, reset: args.reset, yearStarts: args.year_starts, timeZone: args.zone,
      lateMs: args.late_ms,
    }, timed(args));
    return {};
  },
  sequence: async (args) => infoOf(await find(clients, args.client).getSequence(args.sequence)),
  update: async (args) => infoOf(await find(clients, args.client).updateSequence(args.sequence, { format: args.format })),
  set_next: async (args) => infoOf(await find(clients, args.client).sequence(args.sequence).setNext(BigInt(args.next))),
  delete: async (args) => {
    await find(clients, args.client).deleteSequence(args.sequence);
    return {};
  },
  decode_text: async (args) => {
    const { number, state } = await find(clients, args.client).sequence(args.sequence).decode(args.text);
    return { number: `${number}`, state };
  },
  list: async (args) => ({ names: (await find(clients, args.client).listSequences(args.prefix)).map((s) => s.name) }),
  last: async (args) => ({ last: textOf(await find(clients, args.client).sequence(args.sequence).last()) }),
  create_layout: async (args) => {
    await find(clients, args.client).createLayout(new Layout({ name: args.layout, fields: args.fields, epochAtMs: args.epoch_ms }));
    return {};
  },
  layout: async (args) => ({
    fields: (await find(clients, args.client).getLayout(args.layout)).fields.map((f) => `${f.kind}:${f.bits}`).join(","),
    names: (await find(clients, args.client).listLayouts()).map((l) => l.name),
  }),
  ...reservationOps((args) => find(clients, args.client).sequence(args.sequence)),
  numbers: async (args) => {
    const sequence = find(clients, args.client).sequence(args.sequence);
    const numbers = await sequence.take(args.count, {
      ...timed(args), requestId: args.request_id || undefined, period: args.period, from: big(args.from),
    });
    return {
      first: `${numbers.first}`, count: numbers.count, step: `${numbers.increment}`,
      texts: numbers.texts, period: numbers.period || undefined,
    };
  },
  blocks: (args) => {
    blocks.set(args.blocks, find(clients, args.client).blocks(args.sequence, { size: args.size }));
    return {};
  },
  draw: async (args) => {
    const source = find(blocks, args.blocks);
    const { items, failed } = await collect(args.count, async () => (await source.take(1)).first);
    return { numbers: items.map(String), failed };
  },

  run: (args, id) => startRun(id, args, source(args)),
  stop: (args) => stopRun(args.run),

  workers: issueInWorkers,

  clock: (args) => {
    Object.assign(clockOf(args.clock).state, { wall: args.wall_ms, monotonic: args.monotonic_ms });
    return {};
  },

  decode: (args) => {
    const decoded = presetOf(args.layout).decode(decodeText(args.id, "dec"));
    return {
      tick_at_ms: decoded.tickAtMs, datacenter: `${decoded.datacenter}`, worker: `${decoded.worker}`, sequence: `${decoded.sequence}`,
    };
  },
  encode: (args) => {
    const layout = presetOf(args.layout);
    return {
      id: layout.encode({
        tick: layout.tickAt(args.tick_at_ms), worker: BigInt(args.worker), sequence: BigInt(args.sequence), datacenter: BigInt(args.datacenter),
      }).toString(),
    };
  },
};

/** infoOf returns a sequence, as far as the suite looks at it. */
function infoOf({ mode, increment, format, next }) {
  return { mode, step: `${increment}`, format, next: textOf(next) };
}

const textOf = (value) => (value === undefined ? undefined : `${value}`);

const readyMs = 10_000;

function ready(generator, args) {
  return generator.ready({ timeoutMs: args.ready_ms ?? readyMs });
}

/** windows waits until all lanes have a window. With a clock that stands still, none may be ready to issue. */
async function windows(generator, args) {
  const until = performance.now() + (args.ready_ms ?? readyMs);
  while (generator.status().workers.length < (args.lanes ?? 1)) {
    if (performance.now() > until) {
      throw generator.status().problem;
    }
    await pause(5);
  }
}

/** nextOf returns the next ID. With the system's clock, it waits for the next tick; an injected clock stands still. */
function nextOf(generator, waits, after) {
  try {
    return generator.next(after);
  } catch (error) {
    if (waits && error.reason === "WAIT") {
      return generator.nextAsync({ after });
    }
    throw error;
  }
}

/** source returns the function that takes one item of a run. It may return a promise. */
function source(args) {
  switch (args.kind) {
    case "generator": {
      const { generator, waits } = find(generators, args.name);
      return () => nextOf(generator, waits);
    }
    case "ids": {
      const client = find(clients, args.name);
      return () => client.nextId(layered(args));
    }
    case "buffer": {
      const buffer = find(buffers, args.name);
      return () => (buffer.level > 0 ? buffer.next() : buffer.nextAsync());
    }
    case "numbers": {
      const sequence = find(clients, args.name).sequence(args.sequence);
      return () => sequence.next();
    }
    case "blocks": {
      const from = find(blocks, args.name);
      return () => (from.available > 0 ? from.next() : from.take(1).then((numbers) => numbers.first));
    }
    default:
      throw new Error(`unknown kind ${args.kind}`);
  }
}

function closeClient(name) {
  let closing = closings.get(name);
  if (closing === undefined) {
    closing = find(clients, name).close();
    closings.set(name, closing);
  }
  return closing;
}

/** shutDown ends the runs and closes all clients. */
export async function shutDown() {
  for (const id of runs.keys()) {
    stopRun(id);
  }
  await Promise.allSettled([...clients.keys()].map(closeClient));
}
