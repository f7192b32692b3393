import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Client, SnowraftError, type CallOptions, type ClientEvent } from "../src/index.js";
import { Caller } from "../src/caller.js";
import { systemClock } from "../src/clock.js";
import { Standing } from "../src/standing.js";
import { Receipts } from "../src/receipts.js";
import { rules } from "../src/rules.js";
import { Transport } from "../src/transport.js";
import { Leases } from "./lease_kit.js";
import { vectors } from "./vectors.js";
import { connect, failure, FakeMember, idsFrom, pass, patienceMs, until, type Body } from "./fake.js";

test("a client sends nothing before its first call", async () => {
  const member = await FakeMember.start();
  await connect([member]).close();
  assert.deepEqual(member.requests, []);
});

test("concurrent callers share requests, and each gets IDs of its own", async () => {
  const member = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
  const events: ClientEvent[] = [];
  const client = connect([member], { onEvent: (event) => events.push(event) });
  const ids = (await Promise.all(Array.from({ length: 100 }, (_, i) => i % 2 === 0 ? client.ids(3) : client.nextId()))).flat();
  assert.equal(new Set(ids).size, 200);
  assert.ok(member.of("/v1/ids:generate").length <= 3, `${member.of("/v1/ids:generate").length} requests`);
  const batches = events.filter((e) => e.type === "batch");
  assert.equal(batches.reduce((sum, e) => sum + e.callers, 0), 100);
});

test("a caller with a shorter time limit stops waiting, and the others get their IDs", async () => {
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => { answer = resolve; });
  const issue = idsFrom(1n);
  const member = await FakeMember.start({ "/v1/ids:generate": async (body, r) => (await answered, issue(body, r)) });
  const client = connect([member]);
  const patient = client.nextId();
  await assert.rejects(client.nextId({ timeoutMs: 20 }), { reason: "TIMEOUT", unknown: true });
  answer();
  await patient;
});

test("a change that was sent before close may have been made", async () => {
  const member = await FakeMember.start({ "/v1/sequences:setNext": () => new Promise(() => undefined) });
  const client = connect([member]);
  const change = assert.rejects(client.sequence("s").setNext(5n), { reason: "CLOSED", unknown: true });
  await until(() => member.of("/v1/sequences:setNext").length === 1);
  await client.close();
  await change;
  await assert.rejects(async () => client.sequence("s").setNext(5n), { reason: "CLOSED", unknown: false });
});

test("close ends slow calls first, and then releases the workers", async () => {
  const leases = await Leases.start();
  leases.member.on("/v1/sequences:setNext", () => new Promise(() => undefined));
  const client = connect([leases.member]);
  const generator = client.generator();
  await generator.ready();
  const slow = Array.from({ length: 70 }, () => client.sequence("s").setNext(5n));
  const ended = Promise.allSettled(slow);
  await until(() => leases.member.of("/v1/sequences:setNext").length === 64);
  let endedFirst = false;
  leases.onRelease = async () => {
    await ended;
    endedFirst = true;
    return {};
  };
  await client.close();
  assert.ok(endedFirst);
  const unknown = (await ended).filter((e) => e.status === "rejected" && (e.reason as SnowraftError).unknown);
  assert.equal(unknown.length, 64);
});

test("a member whose connections are all in use is not suspected", async () => {
  const member = await FakeMember.start({ "/slow": () => new Promise(() => undefined) });
  const transport = new Transport({ kind: "clear", token: "" });
  after(() => transport.close());
  const slow = { verb: "GET", path: "/slow", body: undefined, headers: {}, timeoutMs: patienceMs, urgent: false };
  Array.from({ length: 64 }, () => transport.send(member.address, slow).catch(() => undefined));
  await until(() => member.of("/slow").length === 64);
  const caller = new Caller([member.address], transport, 20, () => undefined);
  await assert.rejects(caller.call(rules.listMembers, {}), { unknown: false, message: /all 64 connections were in use/ });
  caller.standing.learn([member.address, "other:1"], "");
  assert.equal(new Set(Array.from({ length: 100 }, () => caller.standing.pick([], false).address)).size, 2);
});

test("a session requests IDs greater than its last one", async () => {
  const member = await FakeMember.start({
    "/v1/ids:generate": (body) => {
      const after = BigInt(String(body["after"] ?? 0));
      return { ranges: [{ first: `${after + 20n}`, count: 1, step: "2" }, { first: `${after + 5n}`, count: (body["count"] as number) - 1, step: "2" }].filter((r) => r.count > 0) };
    },
  });
  const session = connect([member]).session({ after: 7n });
  assert.equal(await session.next(), 27n);
  assert.deepEqual(await session.batch(3), [32n, 34n, 47n]);
  assert.equal(session.last, 47n);
  member.on("/v1/ids:generate", () => ({ ranges: [{ first: "47", count: 1, step: "1" }] }));
  await assert.rejects(session.next(), { reason: "INTERNAL" });
  assert.throws(() => connect([member]).session({ after: -1n }), { reason: "INVALID_ARGUMENT" });
});

test("a call that a member refuses goes to another one", async () => {
  const down = await FakeMember.start({ "/v1/ids:generate": () => failure("SHUTTING_DOWN") });
  const gone = await FakeMember.start();
  const up = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
  const client = connect([down, gone, up]);
  gone.stop();
  for (let i = 0; i < 20; i++) {
    await client.nextId();
  }
});

test("a member that does not answer is called only if no other one is left, for longer each time", () => {
  let now = 0;
  const standing = new Standing(["a", "b"], () => now);
  standing.learn(["a", "b"], "a");
  assert.equal(standing.pick([], true).address, "a");
  for (const ms of [5_000, 10_000, 20_000]) {
    standing.suspect("a");
    now += ms - 1;
    assert.deepEqual(standing.pick([], true), { address: "b", others: true });
    assert.deepEqual(standing.pick(["b"], false), { address: "a", others: false });
    now += 2;
    const picked = new Set(Array.from({ length: 100 }, () => standing.pick([], false).address));
    assert.equal(picked.size, 2);
  }
  standing.trust("a");
  standing.suspect("a");
  now += 5_001;
  standing.learn(["a"], "a");
  assert.deepEqual(standing.pick([], true), { address: "a", others: false });
});

test("a lost reply is not repeated if a repetition may do harm", async () => {
  const member = await FakeMember.start({ "/v1/sequences:setNext": () => "drop" });
  await assert.rejects(connect([member]).sequence("s").setNext(5n), { reason: "UNAVAILABLE", retry: false, unknown: true });
  assert.equal(member.of("/v1/sequences:setNext").length, 1);
});

test("an effect that any try may have had is reported", async () => {
  let calls = 0;
  const member = await FakeMember.start({ "/v1/sequences:next": () => (pass(100_000), ++calls === 1 ? "drop" : failure("NO_LEADER")) });
  await assert.rejects(connect([member]).sequence("s").next(), { reason: "NO_LEADER", retry: true, unknown: true });
});

test("without a leader, a change waits for one", async () => {
  let calls = 0;
  const member = await FakeMember.start({
    "/v1/sequences:setNext": () => ++calls < 3 ? failure("NO_LEADER") : { sequence: { name: "s", next: "5" } },
  });
  assert.equal((await connect([member]).sequence("s").setNext(5n)).next, 5n);
});

test("the deadline of a call is sent, and its end reported with the reason", async () => {
  const member = await FakeMember.start({ "/v1/ids:generate": () => (pass(15_000), failure("NO_LEADER")) });
  await assert.rejects(connect([member]).nextId({ timeoutMs: 40_000 }), { reason: "NO_LEADER", retry: true });
  const timeout = member.of("/v1/ids:generate")[0]?.headers["grpc-timeout"] as string;
  assert.match(timeout, /^(1\d|20)\d{3}m$/); // half of the time, for there may be another member
});

test("answers that break the protocol are discarded", async () => {
  const wrong: Body[] = [
    {}, { ranges: [{ first: "5", count: 2, step: "1" }] }, { ranges: [{ first: "-5", count: 1, step: "1" }] }, { ranges: [{ first: "5", count: 1.5, step: "1" }] },
    { ranges: [{ first: "9223372036854775808", count: 1, step: "1" }] }, { ranges: "all" }, { ranges: [{ first: "5", count: 2, step: "-1" }, { first: "5", count: -1 }] },
  ];
  for (const answer of wrong) {
    const member = await FakeMember.start({ "/v1/ids:generate": () => answer });
    await assert.rejects(connect([member]).nextId(), { reason: "INTERNAL" }, JSON.stringify(answer));
  }
});

test("an answer that ends with its connection is read", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"first":"7","count":1,"increment":"1","pad":"${"x".repeat(1 << 20)}"}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const client = new Client({ addresses: [`127.0.0.1:${(server.address() as AddressInfo).port}`] });
  assert.equal(await client.sequence("s").next(), 7n);
  await client.close();
});

test("a switch of the protocol ends a call", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const client = new Client({ addresses: [`127.0.0.1:${(server.address() as AddressInfo).port}`] });
  await assert.rejects(client.sequence("s").setNext(5n), { reason: "UNAVAILABLE", retry: false, unknown: true, message: /switches the protocol/ });
  await client.close();
});

test("ranges of one answer share no ID", async () => {
  const range = (first: number, count: number, step: number): Body => ({ first: `${first}`, count, step: `${step}` });
  const wrong = [
    [range(5, 2, 1), range(5, 2, 1)], [range(5, 2, 1), range(6, 2, 1)], [range(5, 3, 4), range(9, 1, 4)], [range(20, 1, 4), range(1, 1, 4), range(12, 2, 4), range(16, 1, 4)],
    [range(5, 1, 1), range(7, 2, 2)],
  ];
  for (const ranges of wrong) {
    const count = ranges.reduce((sum, r) => sum + (r["count"] as number), 0);
    const member = await FakeMember.start({ "/v1/ids:generate": () => ({ ranges }) });
    await assert.rejects(connect([member]).ids(count), { reason: "INTERNAL" }, JSON.stringify(ranges));
  }
  const member = await FakeMember.start({ "/v1/ids:generate": () => ({ ranges: [range(20, 2, 4), range(1, 2, 4), range(6, 3, 4), range(12, 2, 4)] }) });
  assert.deepEqual(await connect([member]).ids(9), [20n, 24n, 1n, 5n, 6n, 10n, 14n, 12n, 16n]);
});

test("members are learned, and removed ones are not called", async () => {
  const first = await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) });
  const second = await FakeMember.start({ "/v1/sequences:next": () => ({ first: "1", count: 1, increment: "1" }) });
  const members = { members: [{ id: "a", httpAddress: first.address }, { id: "b", httpAddress: second.address, leader: true }, { httpAddress: "" }, { httpAddress: "http://x" }] };
  first.on("/v1/members", () => members);
  first.on("/v1/sequences:next", () => failure("NO_LEADER"));
  const client = connect([first]);
  await client.nextId();
  await until(() => first.of("/v1/members").length > 0);
  await client.sequence("s").next();
  await client.sequence("s").next();
  assert.ok(second.of("/v1/sequences:next").length === 2, "the leader is called");
});

test("a member that knows no leader is not taken for the leader", async () => {
  const standing = new Standing(["former", "other"]);
  standing.learn(["former", "other"], "former");
  assert.equal(standing.pick([], true).address, "former");
  standing.withoutLeader("former");
  for (let i = 0; i < 100; i++) {
    assert.equal(standing.pick([], true).address, "other");
  }
  standing.learn(["former", "other"], "former");
  standing.withoutLeader("other"); // may be behind
  assert.equal(standing.pick([], true).address, "former");
});

test("the latest receipt is brought back", async () => {
  const receipt = (index: number): string => {
    const bytes = Buffer.alloc(97);
    bytes[0] = 1;
    bytes.writeBigUInt64BE(BigInt(index), 25);
    return bytes.toString("base64");
  };
  const receipts = [receipt(5), receipt(4), "garbage", receipt(9)];
  const member = await FakeMember.start({
    "/v1/blocks:allocate": () => ({ block: { token: "0" }, receipt: receipts.shift() ?? receipt(1) }),
  });
  const client = connect([member]);
  for (let i = 0; i < 5; i++) {
    await assert.rejects(client.blocks(`s${i}`).take(1));
  }
  const brought = member.of("/v1/blocks:allocate").map((r) => r.headers["snowraft-receipt"]);
  assert.deepEqual(brought, ["", receipt(5), receipt(5), receipt(5), receipt(9)]);
});

test("receipts are kept as in the vectors", () => {
  const receipts = new Receipts();
  for (const { receipt, keeps } of vectors<{ steps: { receipt: string; keeps: boolean }[] }>("receipts.json").steps) {
    const before = receipts.headers()["Snowraft-Receipt"];
    receipts.keep({ receipt });
    assert.equal(receipts.headers()["Snowraft-Receipt"], keeps ? receipt : before);
  }
});

test("after close, calls fail with CLOSED", async () => {
  const member = await FakeMember.start({ "/v1/ids:generate": () => new Promise(() => undefined) });
  const client = connect([member]);
  const pending = assert.rejects(client.nextId(), { reason: "CLOSED" });
  await until(() => member.of("/v1/ids:generate").length === 1);
  await client.close();
  await pending;
  await assert.rejects(client.nextId(), { reason: "CLOSED" });
  assert.throws(() => client.generator(), { reason: "CLOSED" });
});

test("each of the callers of a failed request gets an error of its own, with its frames", async () => {
  const member = await FakeMember.start({ "/v1/ids:generate": () => failure("UNKNOWN_LAYOUT", 5) });
  const client = connect([member]);
  const callMine = async (): Promise<bigint> => await client.nextId();
  const errors = await Promise.all([callMine(), callMine()].map((call) => call.catch((error: SnowraftError) => error))) as SnowraftError[];
  assert.notEqual(errors[0], errors[1]);
  for (const error of errors) {
    assert.equal(error.reason, "UNKNOWN_LAYOUT");
    assert.match(error.stack ?? "", /callMine/);
  }
});

test("options are checked", async () => {
  const create = Client as unknown as new (options?: unknown) => Client;
  for (const options of [undefined, {}, { addresses: "" }, { addresses: "a,,b" }, { addresses: "a", timeout: 5 }]) {
    assert.throws(() => new create(options), { reason: "INVALID_ARGUMENT" }, JSON.stringify(options));
  }
  const client = new Client({ addresses: "a:1, b" });
  const wrong = { sizes: 1 };
  for (const make of [() => client.generator(wrong as {}), () => client.buffer(wrong as {}), () => client.blocks("s", wrong as {})]) {
    assert.throws(make, { reason: "INVALID_ARGUMENT", message: /"sizes"/ });
  }
  await client.close();
});

test("a time limit that is not greater than 0 is refused, and a long one is no short one", async () => {
  const { member } = await Leases.start();
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => { answer = resolve; });
  const issue = idsFrom(1n);
  member.on("/v1/ids:generate", async (body, r) => (await answered, issue(body, r)));
  const client = connect([member]);
  const [generator, blocks, buffer] = [client.generator(), client.blocks("s"), client.buffer()];
  await generator.ready();
  const wrong: ((options: CallOptions) => unknown)[] = [
    (o) => client.nextId(o), (o) => client.ids(5_000, o), (o) => client.session().next(o), (o) => client.getLayout("default", o), (o) => client.sequence("s").next(o),
    (o) => generator.nextAsync(o), (o) => generator.ready(o), (o) => generator.close(o), (o) => buffer.nextAsync(o),
    (o) => blocks.take(1, o), (o) => blocks.ready(o), (o) => blocks.close(o), (o) => client.close(o), (o) => connect([member], o),
  ];
  for (const timeoutMs of [0, -1, NaN]) {
    for (const call of wrong) {
      await assert.rejects(async () => await call({ timeoutMs }), { reason: "INVALID_ARGUMENT" }, `${call} ${timeoutMs}`);
    }
  }
  const requests = [Infinity, 2 ** 31, 1e6].map((timeoutMs) => client.nextId({ timeoutMs }));
  requests.push(connect([member], { timeoutMs: Infinity }).session().next(), buffer.nextAsync({ timeoutMs: Infinity }));
  await until(() => member.of("/v1/ids:generate").length >= 3);
  answer();
  assert.equal(new Set(await Promise.all(requests)).size, 5);
});

test("arguments and addresses are checked", async () => {
  const client = new Client({ addresses: ["localhost", "[::1]", "::1", "h:1"] });
  await assert.rejects(client.ids(0), { reason: "INVALID_ARGUMENT" });
  await assert.rejects(client.ids(1.5), { reason: "INVALID_ARGUMENT" });
  await client.close();
  for (const address of ["", "h:0", "h:65536", "http://h:1", "a b:1", "u@h:1"]) {
    assert.throws(() => new Client({ addresses: [address] }), SnowraftError.is, address);
  }
});

test("calls refuse options that they do not know", async () => {
  const client = connect([await FakeMember.start({ "/v1/ids:generate": idsFrom(1n) })]);
  const misspelled = { layuot: "orders" } as object;
  for (const call of [
    () => client.nextId(misspelled), () => client.nextId("orders" as unknown as object), () => client.ids(2, misspelled), () => client.uuids(2, misspelled),
  ]) {
    await assert.rejects(call, { reason: "INVALID_ARGUMENT", message: /unknown option/ });
  }
  assert.throws(() => client.session(misspelled), { reason: "INVALID_ARGUMENT" });
  assert.equal(await client.nextId({ layout: "orders", timeoutMs: 60_000 }), 1n);
});

test("the default clock is the system's", () => {
  const before = Date.now();
  const wall = systemClock.wall();
  assert.ok(before <= wall && wall <= Date.now());
  const start = process.hrtime.bigint();
  const first = systemClock.monotonic();
  const elapsed = systemClock.monotonic() - first;
  assert.ok(elapsed >= 0 && elapsed <= Number(process.hrtime.bigint() - start) / 1e6);
});
