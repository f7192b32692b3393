import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../src/caller.js";
import { Members } from "../src/members.js";
import { Standing } from "../src/standing.js";
import { Bell } from "../src/wait.js";

test("the list of members is requested at growing intervals, and soon after a broken connection", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const requested: number[] = [];
  const caller = {
    standing: new Standing(["a:1"]),
    broken: new Bell(),
    call: () => (requested.push(now), Promise.resolve({ members: [{ httpAddress: "a:1", leader: true }] })),
  };
  const members = new Members(caller as unknown as Caller, ["a:1"]);
  const passSeconds = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      now++;
      t.mock.timers.tick(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  members.start();
  await passSeconds(1_000);
  const intervals = requested.map((at, i) => at - (requested[i - 1] ?? 0)).slice(-3);
  assert.ok(intervals.every((s) => s >= 119 && s <= 162), `${intervals}`);
  for (const afterSeconds of [50, 0]) { // 0: within the pause after a request
    const before = requested.length;
    caller.broken.ring();
    await passSeconds(12);
    assert.equal(requested.length - before, 2, `${afterSeconds} s after a request: ${requested}`);
  }
  members.stop();
});
