// How callers share requests, without members.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { Coalescer } from "../src/coalescer.js";
import type { SnowraftError } from "../src/index.js";

/** Script holds a coalescer, whose requests end when the test says so, and whose clock and timers run when it says so. */
function script(t: TestContext) {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const counts: number[] = [];
  const answers: (() => void)[] = [];
  const fetch = (count: number): Promise<number> => new Promise((resolve) => {
    counts.push(count);
    answers.push(() => resolve(count));
  });
  const coalescer = new Coalescer(fetch, () => false, 10_000, () => undefined, 1_000);
  return {
    coalescer,
    counts,
    join: async (callers: number): Promise<void> => {
      Array.from({ length: callers }, () => void coalescer.take(1, {}, () => undefined));
      await turn();
    },
    answer: async (request: number): Promise<void> => {
      answers[request]?.();
      await turn();
    },
    pass: async (ms: number): Promise<void> => {
      now += ms;
      t.mock.timers.tick(ms);
      await turn();
    },
  };
}

test("two requests are in flight at most, and the second serves as many callers as the first", async (t) => {
  const { counts, join, answer } = script(t);
  await join(1);
  await join(1);
  await join(2);
  assert.deepEqual(counts, [1, 1]);
  await answer(0);
  assert.deepEqual(counts, [1, 1, 2]);
  await join(1);
  await answer(1);
  assert.deepEqual(counts, [1, 1, 2], "one caller waits for the request of two");
  await join(1);
  assert.deepEqual(counts, [1, 1, 2, 2], "two callers do not");
  await join(1);
  await answer(2);
  assert.deepEqual(counts, [1, 1, 2, 2], "the other request of two is in flight");
  await answer(3);
  assert.deepEqual(counts, [1, 1, 2, 2, 1]);
});

test("callers that came apart join again", async (t) => {
  const { coalescer, counts, answer } = script(t);
  const call = async (): Promise<void> => {
    for (;;) {
      await coalescer.take(1, {}, () => undefined);
    }
  };
  void call();
  await turn();
  Array.from({ length: 63 }, () => void call());
  await turn();
  await answer(0);
  await answer(1);
  await answer(2);
  assert.deepEqual(counts, [1, 63, 64, 64]);
});

test("after 5 ms, a request without an answer makes no caller wait", async (t) => {
  const { counts, join, pass } = script(t);
  await join(10);
  await join(1);
  await pass(4);
  assert.deepEqual(counts, [10]);
  await pass(1);
  assert.deepEqual(counts, [10, 1]);
});

test("each caller waits as long as its time limit says, and the others get their parts", async (t) => {
  const { coalescer, answer, pass } = script(t);
  const ends: string[] = [];
  [1, 30, 1e6, 1e7, 1e6, 30, 1].forEach((timeoutMs, i) => {
    void coalescer.take(1, { timeoutMs }, (_, offset) => `part ${offset}`)
      .then((part) => ends.push(`${i}: ${part}`), (error: SnowraftError) => ends.push(`${i}: ${error.reason}`));
  });
  await turn();
  await pass(1);
  await pass(1e5);
  assert.deepEqual(ends.sort(), ["0: TIMEOUT", "1: TIMEOUT", "5: TIMEOUT", "6: TIMEOUT"]);
  await pass(1e6);
  await answer(0);
  assert.deepEqual(ends.sort().slice(2), ["2: TIMEOUT", "3: part 6", "4: TIMEOUT", "5: TIMEOUT", "6: TIMEOUT"]);
});

test("while no further request may begin, a caller waits as long as its time limit says, and nothing is requested for it", async (t) => {
  const { coalescer, counts, join, answer, pass } = script(t);
  for (let i = 0; i < 64; i++) {
    await join(1);
    await pass(5);
  }
  assert.equal(counts.length, 64);
  const short = assert.rejects(coalescer.take(7, { timeoutMs: 100 }, () => undefined), { reason: "TIMEOUT", unknown: false });
  const long = coalescer.take(2, { timeoutMs: 1e6 }, (_, offset, count) => [offset, count]);
  await pass(100);
  await short;
  await answer(0);
  assert.deepEqual(counts.slice(64), [2]);
  await answer(64);
  assert.deepEqual(await long, [0, 2]);
  await join(3);
  await pass(5);
  const alone = assert.rejects(coalescer.take(7, { timeoutMs: 100 }, () => undefined), { reason: "TIMEOUT", unknown: false });
  await pass(100);
  await alone;
  await answer(65);
  assert.deepEqual(counts.slice(64), [2, 3]);
  await join(4);
  assert.deepEqual(counts.slice(64), [2, 3, 4]);
});

test("an error that need not apply to each caller makes each request alone", async () => {
  const fetch = async (count: number): Promise<number> => {
    if (count > 1) {
      throw new Error("too many");
    }
    return count;
  };
  const coalescer = new Coalescer(fetch, () => true, 10_000, () => undefined, 1_000);
  const takes = [1, 3, 1].map((count) => coalescer.take(count, {}, (answer, offset) => [answer, offset]));
  const ended = await Promise.allSettled(takes);
  assert.deepEqual(ended.map((e) => e.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(await takes[2], [1, 0]);
});
