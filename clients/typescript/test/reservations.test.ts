import assert from "node:assert/strict";
import { test } from "node:test";
import { SnowraftError, type Reservation, type Resolution } from "../src/index.js";
import { connect, failure, FakeMember, type Body, type Handler } from "./fake.js";

const reserve = "/v1/reservations:reserve";
const confirm = "/v1/reservations:confirm";
const makeVoid = "/v1/reservations:void";

function item(key: string, number: number, other: Body = {}): Body {
  return {
    key, number: `${number}`, text: `INV-${number}`, period: "2026-01-01", reservation: `${100 + number}`, attempt: 2, fate: "open",
    reservedAtMs: "1792419138000", holder: "token 17 (billing)", ...other,
  };
}

test("a document reserves its number, and confirms it or makes it void", async () => {
  const member = await FakeMember.start({
    [reserve]: () => ({ reservations: [item("a", 7), item("b", 8, { fate: "confirmed" })] }), [confirm]: () => ({}), [makeVoid]: () => ({}),
  });
  const invoices = connect([member]).sequence("inv");
  const [a, b] = await invoices.reserve(["a", "b"]) as [Reservation, Reservation];
  assert.deepEqual(a, {
    key: "a", reservation: 107n, attempt: 2, number: 7n, text: "INV-7", period: "2026-01-01", confirmed: false, reservedAtMs: 1792419138000,
    holder: "token 17 (billing)",
  });
  assert.equal(b.confirmed, true);
  await invoices.confirm([a, b]);
  await invoices.void([a], "canceled");
  await invoices.void([a], "canceled", { neverCommitted: true });
  await invoices.reserve(["a", "b"], { period: "2025" });
  const claim = { key: "a", reservation: "107", attempt: 2 };
  assert.deepEqual(member.of(reserve).map((r) => r.body), [{ sequence: "inv", keys: ["a", "b"] }, { sequence: "inv", keys: ["a", "b"], period: "2025" }]);
  assert.deepEqual(member.of(confirm)[0]?.body, { sequence: "inv", claims: [claim, { key: "b", reservation: "108", attempt: 2 }] });
  assert.deepEqual(member.of(makeVoid).map((r) => r.body), [false, true].map((neverCommitted) => (
    { sequence: "inv", claims: [claim], reason: "canceled", neverCommitted })));
});

test("no document gets the number of another one", async () => {
  for (const reservations of [
    [], [item("b", 7)], [item("a", 7), item("a", 8)], [item("a", 7, { fate: "void" })], [item("a", 7, { reservation: "0" })],
    [item("a", 7, { attempt: 0 })], [item("a", 7, { number: "x" })], [item("a", 7, { period: "yesterday" })], ["a"],
  ]) {
    const member = await FakeMember.start({ [reserve]: () => ({ reservations }) });
    await assert.rejects(connect([member]).sequence("inv").reserve(["a"]), /invalid response/, JSON.stringify(reservations));
  }
});

test("reservations and confirmations are repeated after a lost answer", async () => {
  const answers: (Body | "drop")[] = [failure("COMMIT_UNKNOWN", 2), { reservations: [item("a", 7)] }, "drop", {}];
  const next: Handler = () => answers.shift() as Body;
  const member = await FakeMember.start({ [reserve]: next, [confirm]: next });
  const invoices = connect([member]).sequence("inv");
  await invoices.confirm(await invoices.reserve(["a"]));
  assert.deepEqual([member.of(reserve).length, member.of(confirm).length], [2, 2]);
});

test("a list that does not end fails", async () => {
  const member = await FakeMember.start({ "/v1/reservations": () => ({ reservations: [], nextPageToken: "x" }) });
  await assert.rejects(connect([member]).sequence("inv").openReservations(), /a list that does not end/);
  assert.equal(member.of("/v1/reservations").length, 2);
});

const keys = ["used", "void", "leave", "stale", "settled", "forgotten", "reusable"];
const refusals: Record<string, string> = { stale: "STALE_ATTEMPT", settled: "ALREADY_SETTLED", forgotten: "UNKNOWN_RESERVATION" };

/** ledger starts a member with pages of two open reservations. */
async function ledger(): Promise<FakeMember> {
  const settle: Handler = (body) => {
    const refusal = refusals[((body["claims"] as Body[])[0] as Body)["key"] as string];
    return refusal === undefined ? {} : failure(refusal, 9);
  };
  const list: Handler = (_, { query }) => {
    assert.deepEqual([query.get("sequence"), query.get("minAgeMs")], ["inv", "60000"]);
    const start = Number(query.get("pageToken"));
    const reservations = keys.slice(start, start + 2).map((key, i) => item(key, start + i));
    return { reservations, nextPageToken: start + 2 < keys.length ? `${start + 2}` : "" };
  };
  return await FakeMember.start({ "/v1/reservations": list, [confirm]: settle, [makeVoid]: settle });
}

function resolve({ key }: Reservation): Resolution {
  switch (key) {
    case "leave":
      return { fate: "leave" };
    case "void":
    case "forgotten":
    case "reusable":
      return { fate: "void", reason: "canceled", neverCommitted: key === "reusable" };
    default:
      return { fate: "used" };
  }
}

test("a reconcile loop asks for each open number, and leaves those that another caller took over", async () => {
  const member = await ledger();
  const done = await connect([member]).sequence("inv").reconcile(60_000, async (r) => await Promise.resolve(resolve(r)));
  assert.deepEqual(done, { confirmed: 1, void: 2, left: 1, overtaken: 3 });
  const keyOf = (body: Body): unknown => ((body["claims"] as Body[])[0] as Body)["key"];
  assert.deepEqual(member.of(confirm).map((r) => keyOf(r.body)), ["used", "stale", "settled"]);
  assert.deepEqual(
    member.of(makeVoid).map((r) => [keyOf(r.body), r.body["neverCommitted"]]), [["void", false], ["forgotten", false], ["reusable", true]]);
});

test("a reconcile loop stops at any other error", async () => {
  const member = await ledger();
  const invoices = connect([member]).sequence("inv");
  await assert.rejects(invoices.reconcile(60_000, () => {
    throw new Error("database down");
  }), /database down/);
  await assert.rejects(invoices.reconcile(60_000, () => ({ fate: "lost" }) as unknown as Resolution), /expected used, void or leave/);
  await assert.rejects(invoices.reconcile(-1, resolve), (error) => SnowraftError.is(error) && error.reason === "INVALID_ARGUMENT");
  assert.equal(member.of(confirm).length + member.of(makeVoid).length, 0);
});
