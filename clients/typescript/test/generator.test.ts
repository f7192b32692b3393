import assert from "node:assert/strict";
import { test } from "node:test";
import { SnowraftError, type Generator } from "../src/index.js";
import { Watch } from "../src/watch.js";
import { connect, failure, FakeMember, idsFrom, until } from "./fake.js";
import { Leases, StillClock, TestClock, tickOf, workerOf } from "./lease_kit.js";

function reasonOf(generator: Generator): string {
  try {
    generator.next();
    return "";
  } catch (error) {
    assert.ok(SnowraftError.is(error));
    return error.reason;
  }
}

/** drain takes IDs until the generator refuses. */
function drain(generator: Generator): { ids: bigint[]; reason: string } {
  const ids: bigint[] = [];
  for (;;) {
    try {
      ids.push(generator.next());
    } catch (error) {
      assert.ok(SnowraftError.is(error));
      return { ids, reason: error.reason };
    }
  }
}

test("a generator issues ascending IDs synchronously, and releases its worker", async () => {
  const leases = await Leases.start();
  const generator = leases.generator();
  assert.equal(reasonOf(generator), "WINDOW_ENDED");
  await generator.ready();
  const ids = Array.from({ length: 5_000 }, () => generator.next());
  assert.ok(ids.every((id, i) => i === 0 || id > (ids[i - 1] as bigint)));
  const { state, workers } = generator.status();
  assert.equal(state, "issuing");
  assert.equal(workers[0]?.lastTick, tickOf(ids[4_999] as bigint));
  await generator.close();
  assert.equal(reasonOf(generator), "CLOSED");
  const [released] = leases.released;
  const nonce = leases.acquired[0]?.["nonce"] as string;
  assert.equal(Buffer.from(nonce, "base64").length, 16);
  assert.deepEqual(released, {
    layout: "default", worker: "1", token: "1", nonce, untilTick: `${workers[0]?.untilTick}`, nextTick: `${tickOf(ids[4_999] as bigint) + 1}`,
  });
});

test("each generator draws a nonce of its own, and says who it is", async () => {
  const leases = await Leases.start();
  await Promise.all([leases.generator().ready(), leases.generator().ready()]);
  const [a, b] = leases.acquired;
  assert.notEqual(a?.["nonce"], b?.["nonce"]);
  assert.equal(a?.["holder"], "test/0");
  const { processId, version } = a?.["process"] as Record<string, string>;
  assert.deepEqual([processId, version], [String(process.pid), "typescript 0.1.0"]);
});

test("the grant of a lost reply is never used", async () => {
  const leases = await Leases.start();
  leases.onAcquire = (granted) => (leases.acquired.length === 1 ? "drop" : granted);
  const generator = leases.generator();
  await generator.ready();
  assert.equal(workerOf(generator.next()), 2n);
  await generator.close();
  assert.deepEqual(leases.released.map((r) => r["worker"]), ["2"]);
});

test("an extension without an answer is repeated with its ID and its end, and the next one has a new ID", async () => {
  const leases = await Leases.start();
  leases.windowMs = 400;
  leases.onExtend = (granted) => (leases.extended.length <= 2 ? "drop" : granted);
  const generator = leases.generator();
  await generator.ready();
  await until(() => leases.extended.length >= 5);
  const [first, second, third, ...later] = leases.extended.slice(0, 5);
  const claim = (r: typeof first): unknown => [r?.["extensionId"], r?.["untilTick"]];
  assert.match(String(first?.["extensionId"]), /^[1-9]\d*$/);
  assert.deepEqual(claim(second), claim(first));
  assert.deepEqual(claim(third), claim(first));
  assert.equal(new Set([first, ...later].map((r) => r?.["extensionId"])).size, 3);
});

test("a late reply counts", async () => {
  const leases = await Leases.start();
  leases.windowMs = 400;
  let answer: () => void = () => undefined;
  leases.onExtend = (granted) => new Promise((resolve) => {
    answer = () => resolve(granted);
  });
  const generator = leases.generator();
  await generator.ready();
  await until(() => leases.extended.length === 1 && reasonOf(generator) === "WINDOW_ENDED");
  leases.onExtend = (granted) => granted;
  answer();
  await generator.nextAsync();
});

test("nothing is issued at or after the end of the window, while no member answers", async () => {
  const leases = await Leases.start();
  leases.windowMs = 2_000;
  const clock = new StillClock();
  const generator = leases.generator({ clock });
  await generator.ready();
  const end = generator.status().workers[0]?.untilTick as number;
  leases.member.stop();
  clock.move(leases.windowMs - 1);
  const { ids, reason } = drain(generator);
  assert.deepEqual([ids.map(tickOf).at(-1), reason], [end - 1, "WINDOW_ENDED"]);
  clock.move(1);
  assert.equal(reasonOf(generator), "WINDOW_ENDED");
});

test("a worker that was lost is replaced, and not released", async () => {
  const leases = await Leases.start();
  leases.windowMs = 400;
  leases.onExtend = (granted) => (leases.extended.length === 1 ? failure("WINDOW_MISMATCH", 10) : granted);
  const generator = leases.generator();
  const before = await generator.nextAsync();
  await until(() => generator.status().workers[0]?.worker === 2n);
  const after = await generator.nextAsync();
  assert.ok(after > before && workerOf(after) === 2n);
  await generator.close();
  assert.deepEqual(leases.released.map((r) => r["worker"]), ["2"]);
});

test("a worker of another holder needs no release", async () => {
  const leases = await Leases.start();
  leases.onRelease = () => failure("WINDOW_MISMATCH", 10);
  const generator = leases.generator();
  await generator.ready();
  await generator.close();
  assert.equal(leases.released.length, 1);
});

test("a worker whose release fails otherwise is reported", async () => {
  const leases = await Leases.start();
  leases.onRelease = () => "drop";
  const generator = leases.generator();
  await generator.ready();
  await assert.rejects(generator.close(), { reason: "UNAVAILABLE" });
});

test("a generator stops at once when an extension says that the cluster is sealed", async () => {
  const leases = await Leases.start();
  leases.windowMs = 400;
  const clock = new TestClock();
  const generator = leases.generator({ clock });
  await generator.ready();
  leases.onAcquire = leases.onExtend = () => {
    clock.offMs -= 300; // the window has not ended
    return failure("SET_BACK", 9);
  };
  await until(() => leases.extended.length > 0);
  await until(() => generator.status().workers.length === 0);
  assert.equal(reasonOf(generator), "SET_BACK");
  await generator.close();
  assert.deepEqual(leases.released, []);
});

test("a generator stops at once when any answer says that the cluster is sealed", async () => {
  const leases = await Leases.start();
  leases.windowMs = 600_000;
  leases.member.on("/v1/sequences:next", () => failure("SET_BACK", 9));
  const client = connect([leases.member]);
  const generator = client.generator();
  await generator.ready();
  generator.next();
  await assert.rejects(client.sequence("s").next(), { reason: "SET_BACK" });
  assert.equal(reasonOf(generator), "SET_BACK");
});

test("a generator stops at once when the status says that the cluster is sealed, until it is made anew", async () => {
  const leases = await Leases.start();
  const clock = new TestClock();
  const generator = leases.generator({ clock });
  await generator.ready();
  leases.onAcquire = () => failure("SET_BACK", 9);
  leases.status = () => ({ memberId: "m", clockAtMs: `${Date.now()}`, clockOffsetMs: "0", sealed: { reason: "set back" } });
  clock.offMs = 10_000; // makes the generator ask a member now
  await until(() => generator.status().workers.length === 0);
  clock.offMs = 0;
  assert.equal(reasonOf(generator), "SET_BACK");
  leases.status = () => failure("PERMISSION_DENIED", 7);
  leases.onAcquire = (granted) => granted;
  await assert.rejects(generator.ready(), { reason: "SET_BACK", retry: false });
  const anew = leases.generator();
  await anew.ready();
  anew.next();
});

test("a clock that is ahead, behind or before the epoch refuses until it is right", async () => {
  const leases = await Leases.start();
  const clock = new TestClock();
  const generator = leases.generator({ clock });
  await generator.ready();
  generator.next();
  clock.offMs = 10_000;
  assert.equal(reasonOf(generator), "CLOCK_SKEW");
  assert.equal(generator.status().problem?.reason, "CLOCK_SKEW");
  clock.offMs = -10_000;
  assert.equal(reasonOf(generator), "CLOCK_BEHIND");
  clock.offMs = -1e12;
  assert.equal(reasonOf(generator), "CLOCK_BEHIND");
  clock.offMs = 0;
  generator.next();
});

test("the clock of a member shows that this one is ahead", async () => {
  const leases = await Leases.start();
  leases.status = () => ({
    memberId: "m", leaderId: "m", clockAtMs: `${Date.now() - 60_000}`, clockOffsetMs: "0", observedClockAtMs: `${Date.now() - 60_000}`,
    config: { waitThresholdMs: "1000", maxClockOffsetMs: "500", rollback: "refuse" },
  });
  const generator = leases.generator();
  await until(() => generator.status().problem?.reason === "CLOCK_SKEW");
  await assert.rejects(generator.ready({ timeoutMs: 50 }), { reason: "CLOCK_SKEW" });
});

test("a suspension of the machine is no jump of the clock", () => {
  const clock = { at: { wall: 1e12, mono: 0, asleep: 5_000 }, wall: () => clock.at.wall, monotonic: () => clock.at.mono, suspended: () => clock.at.asleep };
  const watch = new Watch(clock);
  watch.observe(1e12);
  clock.at = { wall: 1e12 + 60_000, mono: 10, asleep: 64_990 };
  assert.equal(watch.check(watch.now())?.reason, "CLOCK_SKEW");
  watch.advance();
  assert.equal(watch.check(watch.now()), undefined);
  assert.equal(watch.observed, 1e12 + 60_000);
  clock.at.wall += 60_000;
  watch.advance();
  assert.equal(watch.check(watch.now())?.reason, "CLOCK_SKEW");
});

test("answers after a suspension of the machine are not moved by it", () => {
  const clock = { at: { wall: 1e12, mono: 0, asleep: 5_000 }, wall: () => clock.at.wall, monotonic: () => clock.at.mono, suspended: () => clock.at.asleep };
  const watch = new Watch(clock);
  watch.observePeer("m", 1e12, 0);
  clock.at = { wall: 1e12 + 60_000, mono: 10, asleep: 64_990 };
  watch.observe(1e12 + 60_000);
  watch.observePeer("m", 1e12 + 60_000, 0);
  watch.advance();
  assert.equal(watch.observed, 1e12 + 60_000);
  assert.equal(watch.check(watch.now()), undefined);
});

test("a full tick makes next wait for the clock, or throw when it stands still", async () => {
  const leases = await Leases.start();
  const clock = new StillClock();
  const generator = leases.generator({ clock });
  await generator.ready();
  const { ids, reason } = drain(generator);
  assert.equal(reason, "WAIT");
  assert.ok(ids.length > 5 * 4096 && ids.length <= 6 * 4096);
  clock.move(1);
  generator.next();
});

test("a floor makes the next ID greater, if a process can have issued the floor", async () => {
  const leases = await Leases.start();
  const clock = new StillClock();
  leases.status = () => ({
    memberId: "m", leaderId: "m", clockAtMs: `${clock.at.wall}`, clockOffsetMs: "0", observedClockAtMs: `${clock.at.wall - 20}`,
  });
  const generator = leases.generator({ clock, lanes: 2 });
  await until(() => generator.status().workers.length === 2);
  const floor = (ms: number): bigint => ((BigInt(clock.at.wall + ms - 1_735_689_600_000) << 10n | 1023n) << 12n) | 77n;
  const refusal = (after: bigint): string => {
    try {
      return `${generator.next(after)}`;
    } catch (error) {
      return SnowraftError.is(error) ? error.reason : `${error}`;
    }
  };
  await until(() => refusal(floor(60_000)) === "INVALID_ARGUMENT"); // the clock was compared with the member's
  assert.ok(generator.next(0n) > 0n);
  assert.ok(generator.next(floor(2)) > floor(2));
  assert.ok(await generator.nextAsync({ after: floor(3) }) > floor(3));
  assert.ok((await generator.batch(100, { after: floor(4) })).every((id) => id > floor(4)));
  assert.equal(refusal(floor(100)), "WAIT");
  await assert.rejects(generator.nextAsync({ after: floor(100), timeoutMs: 10 }), { reason: "WAIT", retryAfterMs: 96 });
  assert.equal(refusal(floor(1_200)), "CLOCK_BEHIND");
  for (const after of [floor(60_000), 1n << 63n, (1n << 63n) - 1n, -1n]) {
    assert.equal(refusal(after), "INVALID_ARGUMENT");
  }
  assert.ok(generator.next() < floor(10)); // a floor that is refused moves nothing
});

test("ready fails at once if waiting does not help, and with the reason when its time has passed", async () => {
  const leases = await Leases.start();
  leases.onAcquire = () => failure("PERMISSION_DENIED", 7);
  await assert.rejects(leases.generator().ready({ timeoutMs: 30_000 }), { reason: "PERMISSION_DENIED" });
  leases.onAcquire = () => failure("WORKERS_EXHAUSTED", 8, { retry_at_ms: `${Date.now() + 60_000}` });
  const exhausted = leases.generator();
  await until(() => exhausted.status().problem?.reason === "WORKERS_EXHAUSTED");
  await assert.rejects(exhausted.ready({ timeoutMs: 10 }), { reason: "WORKERS_EXHAUSTED" });
  assert.throws(function nextOfCaller() { exhausted.next(); }, (error: SnowraftError) =>
    error.reason === "WORKERS_EXHAUSTED" && /nextOfCaller/.test(error.stack ?? ""));
  const unknown = await FakeMember.start({ "/v1/layouts/default": () => failure("UNKNOWN_LAYOUT", 5) });
  await assert.rejects(connect([unknown]).generator().ready({ timeoutMs: 30_000 }), { reason: "UNKNOWN_LAYOUT" });
});

test("impossible grants are ignored", async () => {
  const leases = await Leases.start();
  leases.onAcquire = (granted) => {
    const grant = granted["grant"] as Record<string, string>;
    const wrong = [{ worker: "1024" }, { token: "0" }, { untilTick: grant["fromTick"] }, { untilTick: "9007199254740993" }][leases.acquired.length - 1];
    return { grant: { ...grant, ...wrong } };
  };
  const failures: SnowraftError[] = [];
  const generator = leases.generator({}, { onEvent: (event) => event.type === "window" && failures.push(event.error) });
  await generator.ready();
  assert.equal(workerOf(generator.next()), 5n);
  assert.deepEqual(failures.map(({ reason, unknown, retry }) => [reason, unknown, retry]), [["INTERNAL", true, false]]);
});

test("several lanes hold a worker each", async () => {
  const leases = await Leases.start();
  const clock = new StillClock();
  const generator = leases.generator({ lanes: 3, clock });
  await until(() => generator.status().workers.length === 3);
  const seen = new Set<bigint>();
  for (let ids = 0; ids < 13 * 4096; ids++) {
    seen.add(generator.next());
  }
  assert.equal(seen.size, 13 * 4096);
  await generator.close();
  assert.equal(leases.released.length, 3);
});

test("nextAsync and batch wait for a window, and fail with the reason", async () => {
  const leases = await Leases.start();
  leases.windowMs = 400;
  const generator = leases.generator();
  assert.equal(typeof await generator.nextAsync(), "bigint");
  assert.equal(new Set(await generator.batch(20_000)).size, 20_000);
  leases.onExtend = () => failure("NO_LEADER");
  await until(() => reasonOf(generator) === "WINDOW_ENDED");
  await assert.rejects(generator.nextAsync({ timeoutMs: 30 }), { reason: "WINDOW_ENDED" });
});

test("a worker is requested from another member after a former leader has refused", async () => {
  const [former, other] = [await Leases.start(), await Leases.start()];
  former.onAcquire = () => failure("NO_LEADER");
  for (const leases of [former, other]) {
    leases.member.on("/v1/members", () => ({
      members: [{ id: "a", httpAddress: former.member.address, leader: true }, { id: "b", httpAddress: other.member.address }],
    }));
    leases.member.on("/v1/ids:generate", idsFrom(1n));
  }
  const client = connect([former.member, other.member]);
  await client.nextId();
  await until(() => former.member.of("/v1/members").length + other.member.of("/v1/members").length > 0);
  await client.generator({ holder: "test" }).ready({ timeoutMs: 5_000 });
  assert.ok(former.acquired.length <= 1, `${former.acquired.length} requests to a member that knows no leader`);
});
