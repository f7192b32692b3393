import assert from "node:assert/strict";
import { test } from "node:test";
import { SnowraftError } from "../src/index.js";
import { grantOf, type Granter, type Held } from "../src/granter.js";
import { Lane } from "../src/lane.js";
import { layoutOf } from "../src/layout.js";
import type { Grant } from "../src/lease.js";
import { Bell } from "../src/wait.js";
import { Watch } from "../src/watch.js";
import type { Json } from "../src/wire.js";
import { vectors } from "./vectors.js";

interface Step {
  clock?: { wallMs: string; monotonicMs: string };
  member?: { memberId: string; clockAtMs: string; clockOffsetMs: string; observedClockAtMs: string; tookMs: string };
  check?: boolean;
  renew?: boolean;
  next?: number;
  after?: string;
  close?: boolean;
  answer?: { lost?: boolean; error?: string; grant?: Json };
  request?: Json;
  window?: Json;
  ids?: string[];
  refusal?: { reason: string; waitMs?: string; behindMs?: string; aheadMs?: string };
  released?: boolean;
}
interface Script { name: string; layout: Json; start: { wallMs: string; monotonicMs: string }; steps: Step[] }

/** Play is a lane whose renewal runs only in steps, and whose clock stands still between them. */
class Play implements Granter {
  wall: number;
  mono: number;
  answer: Step["answer"];
  request: Json | undefined;
  last = "";
  readonly watch: Watch;
  readonly lane: Lane;

  constructor(script: Script) {
    this.wall = Number(script.start.wallMs);
    this.mono = Number(script.start.monotonicMs);
    this.watch = new Watch({ wall: () => this.wall, monotonic: () => this.mono });
    const layout = layoutOf(script.layout);
    this.lane = new Lane({ layout, granter: this, watch: this.watch, emit: () => undefined, changed: new Bell() }, 0, "h");
  }

  acquire(_layout: string, _holder: string, clockMs: number, windowMs: number): Promise<Grant> {
    this.request = { kind: "acquire", clockAtMs: `${clockMs}`, windowMs: `${windowMs}` };
    return this.#reply();
  }

  extend(held: Held, extension: string, clockMs: number): Promise<Grant> {
    this.request = {
      kind: "extend", clockAtMs: `${clockMs}`, worker: `${held.worker}`, token: `${held.token}`, untilTick: `${held.untilTick}`,
      repeats: extension === this.last,
    };
    this.last = extension;
    return this.#reply();
  }

  release(held: Held, nextTick: number): Promise<void> {
    this.request = {
      kind: "release", worker: `${held.worker}`, token: `${held.token}`, untilTick: `${held.untilTick}`, nextTick: `${nextTick}`,
    };
    return Promise.resolve();
  }

  async #reply(): Promise<Grant> {
    const { answer } = this;
    assert.ok(answer, "a request without an answer in the script");
    if (answer.lost === true) {
      throw new SnowraftError("no answer in time", { reason: "TIMEOUT", unknown: true });
    }
    if (answer.error !== undefined) {
      const metadata = answer.error === "WORKERS_EXHAUSTED" ? { retry_at_ms: `${this.wall + 60_000}` } : {};
      throw new SnowraftError(answer.error, { reason: answer.error, metadata });
    }
    return grantOf({ grant: answer.grant });
  }

  async step(step: Step): Promise<void> {
    this.answer = step.answer;
    this.request = undefined;
    if (step.clock !== undefined) {
      this.wall = Number(step.clock.wallMs);
      this.mono = Number(step.clock.monotonicMs);
    } else if (step.member !== undefined) {
      const m = step.member;
      this.watch.observe(Number(m.observedClockAtMs));
      this.watch.observePeer(m.memberId, Number(m.clockAtMs) - Number(m.clockOffsetMs), Number(m.tookMs));
    } else if (step.check === true) {
      this.watch.advance();
    } else if (step.renew === true) {
      this.lane.hasten();
      await this.lane.step();
      assert.deepEqual(this.#window(), step.window);
    } else if (step.next !== undefined) {
      assert.deepEqual(this.#next(step.next, step.after === undefined ? undefined : BigInt(step.after)), { ids: step.ids ?? [], refusal: step.refusal });
    } else {
      this.lane.stop();
      await this.lane.finish(1_000);
    }
    assert.deepEqual(this.request, step.request);
  }

  #window(): Json | undefined {
    const lease = this.lane.lease;
    return lease && {
      worker: `${lease.worker}`, token: `${lease.token}`, fromTick: `${lease.fromTick}`, untilTick: `${lease.untilTick}`,
    };
  }

  /** Takes IDs above a floor as a generator does, until one is refused. */
  #next(count: number, after: bigint | undefined): { ids: string[]; refusal: Step["refusal"] } {
    const ids: string[] = [];
    while (ids.length < count) {
      // The generator's fast path: it reads only the wall clock.
      const trusted = after === undefined && this.wall <= this.watch.ceiling && this.wall >= this.watch.floor;
      let id = trusted ? this.lane.lease?.take(this.wall) : undefined;
      if (id === undefined) {
        const now = this.watch.now();
        const wrong = this.lane.checkClock(now);
        if (wrong !== undefined) {
          return { ids, refusal: refusal(wrong) };
        }
        id = this.lane.lease?.take(now.wall, after);
        if (id === undefined) {
          const unissued = after === undefined || this.lane.lease?.closed === true ? undefined : this.lane.checkFloor(after, now);
          if (unissued !== undefined) {
            return { ids, refusal: refusal(unissued) };
          }
          const outlook = this.lane.outlook(now, after);
          return { ids, refusal: "waitMs" in outlook ? { reason: "WAIT", waitMs: `${outlook.waitMs}` } : refusal(outlook.error) };
        }
      }
      ids.push(id.toString());
    }
    return { ids, refusal: undefined };
  }
}

function refusal(error: SnowraftError): Step["refusal"] {
  return {
    reason: error.reason,
    ...(error.metadata["behind_ms"] === undefined ? {} : { behindMs: error.metadata["behind_ms"] }),
    ...(error.metadata["ahead_ms"] === undefined ? {} : { aheadMs: error.metadata["ahead_ms"] }),
  };
}

for (const script of vectors<{ scripts: Script[] }>("windows.json").scripts) {
  test(`a lane does as the vectors say: ${script.name}`, async () => {
    const play = new Play(script);
    for (const [k, step] of script.steps.entries()) {
      await play.step(step).catch((error: unknown) => {
        throw new Error(`step ${k}: ${JSON.stringify(step).slice(0, 200)}: ${(error as Error).message}`, { cause: error });
      });
    }
  });
}

test("a wait between the readings of two clocks is no jump", () => {
  const clock = { now: 0, waits: 3 };
  const watch = new Watch({
    wall: () => {
      const wall = 1e12 + clock.now;
      clock.now += clock.waits-- > 0 ? 700 : 0;
      return wall;
    },
    monotonic: () => clock.now,
  });
  clock.now += 60_000;
  assert.equal(watch.check(watch.now()), undefined);
  clock.waits = 1;
  assert.deepEqual(watch.now(), { wall: 1e12 + clock.now, mono: clock.now });
});
