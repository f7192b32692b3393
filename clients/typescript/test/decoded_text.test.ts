import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, failure, FakeMember, type Body } from "./fake.js";

const decode = "/v1/sequences:decode";
const answer: Body = {
  sequence: "vouchers", text: "V-1", number: "17", period: "2026-01-01", format: "V-{code:base32:8}", state: "not-granted", deleted: true,
};

test("a text decodes to its number", async () => {
  const answers: Body[] = [failure("COMMIT_UNKNOWN", 2), answer];
  const member = await FakeMember.start({ [decode]: () => answers.shift() as Body });
  assert.deepEqual(await connect([member]).sequence("vouchers").decode("V-1"), {
    number: 17n, period: "2026-01-01", format: "V-{code:base32:8}", state: "not-granted", deleted: true,
  });
  assert.deepEqual(member.of(decode).map((r) => r.body), [0, 1].map(() => ({ sequence: "vouchers", text: "V-1" })));
});

test("a text of another form is refused", async () => {
  const member = await FakeMember.start({ [decode]: () => failure("INVALID_ARGUMENT", 3) });
  await assert.rejects(connect([member]).sequence("vouchers").decode("V-1"), { reason: "INVALID_ARGUMENT" });
});

test("a malformed answer is refused", async () => {
  for (const other of [{ number: "x" }, { state: "lost" }, { state: 1 }, { period: 5 }]) {
    const member = await FakeMember.start({ [decode]: () => ({ ...answer, ...other }) });
    await assert.rejects(connect([member]).sequence("vouchers").decode("V-1"), /invalid response/, JSON.stringify(other));
  }
});
