// Runs against a real cluster: the program in the environment variable SNOWRAFT, or bin/snowraft of this repository.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Client, preset, SnowraftError, toUuid, fromUuid, type ClientOptions, type Layout } from "../src/index.js";

const program = process.env["SNOWRAFT"] ?? fileURLToPath(new URL("../../../../bin/snowraft", import.meta.url));
const standard = preset("default") as Layout;

interface Cluster { options: ClientOptions; pem: string | undefined; stop: () => Promise<void> }

/** freePorts returns the first of 30 ports that are free. Processes that look at the same time begin at different bases. */
async function freePorts(): Promise<number> {
  for (let i = 0; i < 26; i++) {
    const base = 21_100 + 30 * ((process.pid + i) % 26);
    const free = await Promise.all(Array.from({ length: 30 }, async (_, i) => {
      const server = createServer().listen(base + i, "127.0.0.1");
      const ok = await Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]).catch(() => false);
      server.close();
      return ok;
    }));
    if (free.every(Boolean)) {
      return base;
    }
  }
  throw new Error("no free ports");
}

/** start runs a cluster of three members. */
async function start(...flags: string[]): Promise<Cluster> {
  const base = await freePorts();
  const cluster = spawn(program, ["dev", "--port-base", `${base}`, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  await new Promise<void>((resolve, reject) => {
    cluster.stdout.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes("Press Ctrl-C")) {
        resolve();
      }
    });
    cluster.once("exit", () => reject(new Error(`the cluster ended: ${text}`)));
  });
  const token = /SNOWRAFT_TOKEN=(\S+)/.exec(text)?.[1];
  const ca = /--cacert (\S+)/.exec(text)?.[1];
  return {
    stop: async () => {
      cluster.removeAllListeners("exit");
      cluster.kill("SIGINT");
      await once(cluster, "exit");
    },
    options: { addresses: [1, 11, 21].map((i) => `127.0.0.1:${base + i}`), ...(token === undefined ? {} : { token }) },
    pem: ca === undefined ? undefined : readFileSync(ca, "utf8"),
  };
}

const clients: Client[] = [];
function open(options: ClientOptions): Client {
  const client = new Client(options);
  clients.push(client);
  return client;
}

if (!isMainThread) {
  const client = new Client(workerData as ClientOptions);
  const generator = client.generator();
  await generator.ready();
  parentPort?.postMessage(await generator.batch(20_000));
  await client.close();
} else {
  const skip = existsSync(program) ? false : `no program ${program}`;
  for (const flags of [[], ["--secure"]]) {
    describe(`a cluster of snowraft dev ${flags.join(" ")}`, { skip }, () => {
      let cluster: Cluster;
      before(async () => {
        cluster = await start(...flags);
      });
      after(async () => {
        await Promise.all(clients.splice(0).map((client) => client.close()));
        await cluster.stop();
      });

      test("IDs, UUIDs and generators of several clients and worker threads are unique", async () => {
        const client = open(cluster.options);
        const generator = client.generator({ lanes: 2 });
        await generator.ready();
        const worker = (): Promise<bigint[]> => new Promise((resolve, reject) => {
          new Worker(new URL(import.meta.url), { workerData: cluster.options }).once("message", resolve).once("error", reject);
        });
        const all = (await Promise.all([
          worker(), worker(), client.ids(5_000), generator.batch(20_000), ...Array.from({ length: 200 }, () => client.nextId().then((id) => [id])),
        ])).flat();
        assert.equal(new Set(all).size, 65_200);
        const began = Date.now();
        const at = standard.decode(generator.next()).tickAtMs;
        assert.ok(began - 1_000 < at && at < Date.now() + 1_000);
        const [uuid] = await client.uuids(1);
        assert.equal(toUuid(standard, fromUuid(standard, uuid as string), "x").slice(0, 18), uuid?.slice(0, 18));
      });

      test("strict and relaxed sequences count without repetitions", async () => {
        const client = open(cluster.options);
        await client.createSequence({ name: "orders", mode: "strict", format: "ORD{date:yyyy}-{seq:04}", reset: "yearly" });
        const bills = await client.createSequence({ name: "bills", reset: "quarterly", yearStarts: "04-01", format: "{fy:yyyy-yy}Q{quarter}-{seq}" });
        assert.deepEqual([bills.reset, bills.yearStarts], ["quarterly", "04-01"]);
        assert.match(await client.sequence("bills").nextText(), /^\d{4}-\d\dQ[1-4]-1$/);
        await client.createSequence({ name: "receipts", reset: "yearly", lateMs: 366 * 86_400_000, format: "{date:yyyy}/{seq}" });
        const year = new Date().getUTCFullYear() - 1;
        assert.equal(await client.sequence("receipts").nextText({ period: `${year}`, from: 813n }), `${year}/813`);
        assert.deepEqual(await client.sequence("receipts").texts(2, { period: `${year}` }), [`${year}/814`, `${year}/815`]);
        const orders = client.sequence("orders");
        const numbers = await Promise.all(Array.from({ length: 500 }, () => orders.next()));
        assert.deepEqual([...new Set(numbers)].sort((a, b) => Number(a - b)), Array.from({ length: 500 }, (_, i) => BigInt(i + 1)));
        assert.match(await orders.nextText(), /^ORD\d{4}-0501$/);
        assert.equal(await orders.next({ requestId: "r" }), await orders.next({ requestId: "r" }));
        assert.equal(await orders.last(), 502n);
        await client.createSequence({ name: "tickets", mode: "relaxed" });
        const blocks = client.blocks("tickets");
        const drawn = new Set<bigint>();
        for (let i = 0; i < 5_000; i++) {
          drawn.add((await blocks.take(1)).first);
        }
        assert.equal(drawn.size, 5_000);
        await blocks.close();
        await assert.rejects(client.blocks("orders").take(1), { reason: "STRICT_SEQUENCE" });
        await assert.rejects(client.sequence("nope").next(), { reason: "UNKNOWN_SEQUENCE", retry: false });
        await client.updateSequence("orders", { max: 1_000n });
        await assert.rejects(orders.take(999), { reason: "SEQUENCE_EXHAUSTED" });
        await client.deleteSequence("orders", { expectedGeneration: (await client.getSequence("orders")).generation });
      });

      test("a layout of 53 bits issues numbers", { skip: flags.length > 0 && "the token may not create layouts" }, async () => {
        const client = open(cluster.options);
        assert.deepEqual(await client.createLayout(preset("jssafe") as Layout), preset("jssafe"));
        const generator = client.generator({ layout: "jssafe" });
        await generator.ready();
        assert.ok(Number.isSafeInteger(generator.nextNumber()));
        const session = client.session();
        assert.ok(await session.next() < await session.next());
      });

      test("a worker that was released is free again", async () => {
        const first = open(cluster.options).generator({ holder: "again" });
        await first.ready();
        const { worker } = standard.decode(first.next());
        await first.close();
        const second = open(cluster.options).generator({ holder: "again" });
        await second.ready();
        assert.equal(standard.decode(second.next()).worker, worker);
      });

      test("the members are verified", { skip: flags.length === 0 }, async () => {
        const { token, ...rest } = cluster.options;
        const [bare, pin] = [token?.split("_").slice(0, 3).join("_"), token?.split("_")[3]] as [string, string];
        await open({ ...rest, token: bare, pin }).nextId();
        await open({ ...rest, token: bare, ca: cluster.pem as string }).nextId();
        const wrong = `${pin.startsWith("a") ? "b" : "a"}${pin.slice(1)}`;
        await assert.rejects(open({ ...rest, token: bare, pin: wrong }).nextId(), { reason: "PIN_MISMATCH", retry: false });
        await assert.rejects(open({ ...rest, pin }).nextId(), { reason: "UNAUTHENTICATED" });
        await assert.rejects(open({ ...rest, token: bare, timeoutMs: 500 }).nextId(), (error) =>
          SnowraftError.is(error) && error.message.includes("TLS"));
      });
    });
  }
}
