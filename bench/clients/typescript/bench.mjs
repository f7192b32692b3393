// Measures one way to make an ID with tinybench, and prints a line of JSON: the nanoseconds of an ID.
// usage: node bench.mjs NAME [ADDRESS [MS]]
import { setImmediate as turn } from "node:timers/promises";
import { Bench } from "tinybench";

const [name, address = "127.0.0.1:7701", ms = "1000"] = process.argv.slice(2);
const sliceMs = 50; // between two slices, the event loop runs
const perCall = 1000; // reading a clock costs as much as an ID
const epoch = Date.UTC(2025, 0, 1);

let close = async () => {};

/** leased returns next of a generator that has a window. */
async function leased(layout) {
  const { Client } = await import("snowraft");
  const client = new Client({ addresses: [address] });
  const generator = client.generator({ layout, holder: "bench" });
  close = () => client.close();
  await generator.ready(30_000);
  return () => generator.next();
}

/** Each entry returns a function that makes one ID. A process measures one of them, so that V8 compiles for it alone. */
const ways = {
  clock: () => {
    const words = new Uint32Array(2);
    const long = new BigUint64Array(words.buffer);
    return () => {
      const now = Date.now();
      words[0] = now;
      words[1] = now / 0x1_0000_0000;
      return long[0];
    };
  },
  wide: () => leased("wide"),
  usual: () => leased("default"),
  sapphire: async () => {
    const { Snowflake } = await import("@sapphire/snowflake");
    const snowflake = new Snowflake(epoch);
    return () => snowflake.generate();
  },
  snowyflake: async () => {
    const { Snowyflake } = await import("snowyflake");
    const snowflake = new Snowyflake({ workerId: 1n, epoch: BigInt(epoch) });
    return () => snowflake.nextId();
  },
  nodejs: async () => {
    const { Snowflake } = (await import("nodejs-snowflake")).default;
    const snowflake = new Snowflake({ custom_epoch: epoch, instance_id: 1 });
    return () => snowflake.getUniqueID();
  },
  snowflakify: async () => {
    const { default: Snowflakify } = await import("snowflakify");
    const snowflake = new Snowflakify({ epoch });
    return () => snowflake.nextId();
  },
  uuid4: async () => {
    const { randomUUID } = await import("node:crypto");
    return randomUUID;
  },
};

const next = await ways[name]();
let last;
const call = () => {
  for (let i = 0; i < perCall; i++) {
    last = next();
  }
};

/** measure runs slices for a time, and returns the mean nanoseconds of an ID. */
async function measure(time) {
  let spent = 0;
  let calls = 0;
  while (spent < time) {
    const bench = new Bench({ time: sliceMs, iterations: 1, warmup: false }); // one runs once
    bench.add(name, call);
    const [{ result }] = await bench.run();
    if (result.error !== undefined) {
      throw result.error;
    }
    spent += result.totalTime;
    calls += result.latency.samplesCount;
    await turn();
  }
  return (spent * 1e6) / (calls * perCall);
}

await measure(Number(ms) / 2); // warms up
const ns = await measure(Number(ms));
await close();
if (last === undefined) {
  throw new Error("no ID");
}
console.log(JSON.stringify({ ns }));
