import assert from "node:assert/strict";
import { test } from "node:test";
import { preset, SnowraftError, type Blocks } from "../src/index.js";
import { Ledger } from "../src/ledger.js";
import type { Block } from "../src/stock.js";
import { connect, defaultLayout, failure, FakeMember, until, type Body, type Handler } from "./fake.js";

const order = { name: "orders", mode: "strict" };

/** numbersFrom returns a handler of nextNumbers that counts from 1 to last. */
function numbersFrom(last = Infinity): Handler {
  let next = 1;
  const once = new Map<unknown, Body>();
  return (body) => {
    const known = once.get(body["requestId"]);
    const count = body["count"] as number;
    if (known !== undefined && body["requestId"] !== undefined) {
      return known;
    }
    if (next + count - 1 > last) {
      return failure("SEQUENCE_EXHAUSTED", 11);
    }
    const texts = count <= 1_000 ? Array.from({ length: count }, (_, i) => `N${next + i}`) : [];
    const answer = { first: `${next}`, count, increment: "1", period: "2026-11-01", format: "N{seq}", texts };
    next += count;
    once.set(body["requestId"], answer);
    return answer;
  };
}

test("concurrent callers of a sequence share requests, and get their numbers in the order of their calls", async () => {
  const member = await FakeMember.start({ "/v1/sequences:next": numbersFrom() });
  const orders = connect([member]).sequence("orders");
  const numbers = await Promise.all(Array.from({ length: 64 }, () => orders.next()));
  assert.deepEqual(numbers, Array.from({ length: 64 }, (_, i) => BigInt(i + 1)));
  assert.ok(member.of("/v1/sequences:next").length <= 3);
  const run = await orders.take(3);
  assert.deepEqual([...run], [65n, 66n, 67n]);
  assert.deepEqual([run.texts, run.period], [["N65", "N66", "N67"], "2026-11-01"]);
  assert.deepEqual(await Promise.all([orders.texts(2), orders.nextText()]), [["N68", "N69"], "N70"]);
});

test("callers never join the request in flight, whose answer may be older than they are", async () => {
  const firsts = ["1", "100"];
  let answer: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const member = await FakeMember.start({
    "/v1/sequences:next": async ({ count }) => {
      const first = firsts.shift();
      await gate;
      return { first, count, increment: "1" };
    },
  });
  const orders = connect([member]).sequence("orders");
  const first = orders.next();
  await until(() => member.of("/v1/sequences:next").length === 1);
  const second = orders.next();
  answer();
  assert.deepEqual(await Promise.all([first, second]), [1n, 100n]);
});

test("a request with an ID is sent alone, and a repetition gets the same numbers", async () => {
  const member = await FakeMember.start({ "/v1/sequences:next": numbersFrom() });
  const orders = connect([member]).sequence("orders");
  const once = (): Promise<bigint> => orders.next({ requestId: "cart-1" });
  assert.deepEqual(await Promise.all([once(), orders.next()]), [1n, 2n]);
  assert.equal(await once(), 1n);
  await assert.rejects(orders.next({ requestId: "x".repeat(65) }), { reason: "INVALID_ARGUMENT" });
});

test("a request for numbers of a period is sent alone", async () => {
  const member = await FakeMember.start({ "/v1/sequences:next": numbersFrom() });
  const orders = connect([member]).sequence("orders");
  await orders.texts(2, { period: "2026-11" });
  await orders.take(1, { period: "2026-10", from: 813n, requestId: "r" });
  assert.deepEqual(member.of("/v1/sequences:next").map((call) => call.body), [
    { sequence: "orders", count: 2, period: "2026-11" },
    { sequence: "orders", count: 1, period: "2026-10", from: "813", requestId: "r" },
  ]);
  await assert.rejects(orders.next({ period: "" }), { reason: "INVALID_ARGUMENT" });
  await assert.rejects(orders.next({ from: 1n }), { reason: "INVALID_ARGUMENT" });
});

test("if too few numbers are left for all, each caller asks alone", async () => {
  const member = await FakeMember.start({ "/v1/sequences:next": numbersFrom(3) });
  const orders = connect([member]).sequence("orders");
  const ended = await Promise.allSettled([orders.next(), orders.take(7), orders.next()]);
  assert.deepEqual(ended.map((e) => e.status), ["fulfilled", "rejected", "fulfilled"]);
});

test("numbers that do not match the request are discarded", async () => {
  for (const answer of [
    { first: "1", count: 2, increment: "1" }, { first: "1", count: 1, increment: "0" }, { first: "9223372036854775808", count: 1, increment: "1" },
    { first: "1", count: 1, increment: "1", texts: ["a", "b"] }, { first: 1.5, count: 1, increment: "1" },
  ]) {
    const member = await FakeMember.start({ "/v1/sequences:next": () => answer });
    await assert.rejects(connect([member]).sequence("s").next(), { reason: "INTERNAL" }, JSON.stringify(answer));
  }
});

test("sequences are created, read, changed and deleted with their settings", async () => {
  const member = await FakeMember.start({
    "/v1/sequences": () => ({ sequence: order }),
    "/v1/sequences/a%2Fb%3A": () => ({ sequence: { ...order, next: "7", generation: "18446744073709551615" } }),
    "/v1/sequences:last": () => ({ last: "6" }),
  });
  const client = connect([member]);
  await client.createSequence({ name: "orders", mode: "relaxed", start: 5n, maxBlock: 10 }, { forceFormat: true });
  const info = await client.getSequence("a/b:");
  assert.deepEqual([info.next, info.generation], [7n, 18446744073709551615n]);
  await client.updateSequence("a/b:", { max: 9n }, { expectedGeneration: 3n });
  await client.deleteSequence("a/b:");
  assert.equal(await client.sequence("orders").last(), 6n);
  const sent = member.requests.filter((r) => r.path !== "/v1/members").map((r) => [r.method, r.body]);
  assert.deepEqual(sent, [
    ["POST", { name: "orders", mode: "relaxed", start: "5", maxBlock: 10 }], ["GET", {}], ["PATCH", { max: "9" }], ["DELETE", {}], ["GET", {}],
  ]);
});

test("sequences and layouts are listed, page by page", async () => {
  const queries: string[] = [];
  const member = await FakeMember.start({
    "/v1/sequences": () => ({ sequences: [{ name: queries.push("") === 1 ? "a" : "b" }], nextPageToken: queries.length === 1 ? "p/2" : "" }),
    "/v1/layouts": () => ({ layouts: [defaultLayout.layout] }),
  });
  const client = connect([member]);
  assert.deepEqual((await client.listSequences("x&")).map((s) => s.name), ["a", "b"]);
  assert.deepEqual(await client.listLayouts(), [preset("default")]);
  member.on("/v1/sequences", () => ({ nextPageToken: "again" }));
  await assert.rejects(client.listSequences(), { reason: "INTERNAL" });
});

/** BlockCluster grants blocks one after the other. */
class BlockCluster {
  member!: FakeMember;
  next = 1;
  token = 0;
  generation = 1;
  change: (block: Body) => Body = (block) => block;

  static async start(): Promise<BlockCluster> {
    const cluster = new BlockCluster();
    cluster.member = await FakeMember.start({
      "/v1/blocks:allocate": (body) => {
        const count = Math.min(Number(body["count"]), 1_000);
        const block = {
          token: `${++cluster.token}`, first: `${cluster.next}`, count: `${count}`, increment: "1", generation: `${cluster.generation}`,
          period: "", periodEndsAtMs: "0", blockDurationMs: "10000", minBlock: "1", maxBlock: "1000",
        };
        cluster.next += count;
        const changed = cluster.change(block);
        return changed["failed"] === true ? changed : { block: changed };
      },
      "/v1/blocks:return": (body) => {
        cluster.next -= Number(body["unused"]);
        return {};
      },
      "/v1/sequences/s": () => ({ sequence: { name: "s", generation: `${cluster.generation}` } }),
    });
    return cluster;
  }

  blocks(refreshMs = 100): Blocks {
    return connect([this.member]).blocks("s", { size: 10, refreshMs });
  }
}

test("blocks issue ascending numbers from memory, request the next block early, and return the rest", async () => {
  const cluster = await BlockCluster.start();
  const blocks = cluster.blocks();
  assert.throws(() => blocks.next(), { reason: "EMPTY", retry: true });
  await blocks.ready();
  for (let want = 1n; want <= 9n; want++) {
    assert.equal(blocks.next(), want);
  }
  await until(() => blocks.available > 1);
  for (let want = 10n; want <= 2_000n; want++) {
    assert.equal((await blocks.take(1)).first, want);
  }
  assert.ok(cluster.token < 200, `${cluster.token} blocks`);
  await blocks.close();
  const { count } = await cluster.blocks().take(5);
  assert.equal(count, 5);
  assert.throws(() => blocks.next(), { reason: "CLOSED" });
});

test("a run of many numbers is in one piece, and one that no block has is refused", async () => {
  const cluster = await BlockCluster.start();
  const blocks = cluster.blocks();
  await blocks.take(3);
  const run = await blocks.take(500);
  assert.equal(run.count, 500);
  assert.ok((await blocks.take(1)).first > run.at(499));
  await assert.rejects(blocks.take(5_000), { reason: "INVALID_ARGUMENT" });
});

test("impossible blocks are ignored", async () => {
  for (const wrong of [{ token: "0" }, { count: "0" }, { increment: "0" }, { first: "9223372036854775807" }, { period: "soon" }]) {
    const cluster = await BlockCluster.start();
    cluster.change = (block) => ({ ...block, count: "10", ...wrong });
    await assert.rejects(cluster.blocks().take(1), { reason: "INTERNAL" }, JSON.stringify(wrong));
  }
  const cluster = await BlockCluster.start();
  const blocks = cluster.blocks();
  await blocks.take(10);
  cluster.change = (block) => ({ ...block, first: "5" }); // numbers that were issued
  await assert.rejects(blocks.take(8), { reason: "INTERNAL" });
});

test("after a change of the sequence, numbers of old blocks are not issued", async () => {
  const cluster = await BlockCluster.start();
  const blocks = cluster.blocks();
  await blocks.take(1);
  cluster.generation = 2;
  cluster.next = 1_000_000;
  await until(() => blocks.available === 0);
  assert.ok((await blocks.take(1)).first >= 1_000_000n);
});

test("blocks of an earlier generation or period are outdated", () => {
  const block = { token: 1n, first: 1n, count: 10, increment: 1n, periodEndMs: 0 };
  const ledger = new Ledger();
  ledger.accepted({ ...block, generation: 1n, period: "2026-11-29" } as Block);
  for (const [generation, period, outdated] of [[1n, "2026-11-29", false], [1n, "2026-11-28", true], [2n, "", false], [0n, "2026-11-30", true]] as const) {
    assert.equal(ledger.isOutdated({ ...block, generation, period } as Block), outdated, `${generation} ${period}`);
  }
});

test("numbers of a period that has ended are not issued, unless the cluster has just granted them", async () => {
  const cluster = await BlockCluster.start();
  const ends = Date.now() + 150;
  cluster.change = (block) => ({ ...block, period: "2026-11-30", periodEndsAtMs: `${ends}` });
  const blocks = cluster.blocks(60_000);
  await blocks.take(1);
  await until(() => Date.now() > ends && blocks.available === 0); // later, if a block was granted meanwhile
  cluster.change = (block) => ({ ...block, first: "1", period: "2026-12-01", periodEndsAtMs: `${ends + 86_400_000}` });
  const { first, period } = await blocks.take(1);
  assert.deepEqual([first, period], [1n, "2026-12-01"]);
});

test("blocks stop at once when the cluster is sealed", async () => {
  const cluster = await BlockCluster.start();
  cluster.member.on("/v1/sequences:next", () => failure("SET_BACK", 9));
  const client = connect([cluster.member]);
  const blocks = client.blocks("s");
  await blocks.ready();
  blocks.next();
  cluster.change = () => failure("SET_BACK", 9);
  await assert.rejects(client.sequence("t").next(), { reason: "SET_BACK" });
  assert.throws(() => blocks.next(), { reason: "SET_BACK", retry: false });
  await assert.rejects(blocks.take(1), { reason: "SET_BACK" });
  await blocks.close();
  assert.deepEqual(cluster.member.of("/v1/blocks:return"), []);
});

test("a lost reply is a lost block", async () => {
  const cluster = await BlockCluster.start();
  const granted = cluster.member;
  let lost = true;
  const issue: Handler = () => {
    const first = cluster.next;
    cluster.next += 10;
    if (lost) {
      lost = false;
      return "drop";
    }
    return { block: { token: `${++cluster.token}`, first: `${first}`, count: "10", increment: "1", generation: "1", blockDurationMs: "1000", minBlock: "1", maxBlock: "10" } };
  };
  granted.on("/v1/blocks:allocate", issue);
  assert.equal((await cluster.blocks().take(1)).first, 11n);
});

test("a buffer serves from memory, refills, drops old IDs, and says why it is empty", async () => {
  let next = 1n;
  const member = await FakeMember.start({
    "/v1/ids:generate": (body) => {
      const first = next;
      next += BigInt(body["count"] as number);
      return { ranges: [{ first: `${first}`, count: body["count"], step: "1" }] };
    },
  });
  const client = connect([member]);
  const buffer = client.buffer({ size: 100, ageMs: 150 });
  assert.throws(() => buffer.next(), { reason: "EMPTY", message: /await ready\(\) first/ });
  await buffer.ready();
  const seen = new Set<bigint>();
  for (let i = 0; i < 1_000; i++) {
    seen.add(await buffer.nextAsync());
  }
  assert.equal(seen.size, 1_000);
  const [first] = [await buffer.nextAsync()];
  await until(() => buffer.level > 0 && buffer.next() > first + 2_000n); // older ones were dropped
  member.on("/v1/ids:generate", () => failure("UNKNOWN_LAYOUT", 5));
  await until(() => buffer.level === 0);
  await assert.rejects(buffer.nextAsync(), (error) => SnowraftError.is(error) && error.reason === "UNKNOWN_LAYOUT");
  await client.close();
  assert.throws(() => buffer.next(), { reason: "CLOSED" });
});
