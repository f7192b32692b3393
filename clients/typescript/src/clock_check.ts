import type { Caller } from "./caller.js";
import { rules } from "./rules.js";
import type { Bell } from "./wait.js";
import { sleep } from "./wait.js";
import type { Watch } from "./watch.js";
import { object, safe, text } from "./wire.js";

const checkEveryMs = 1_000;
/** The interval of requests for a member's time while the clock seems correct. */
const queryEveryMs = 20_000;
const queryMs = 2_000;

/**
 * runClockCheck keeps a generator's watch up to date until a bell rings: it compares the clock with that of a member every 20 s,
 * and each second while the clock seems wrong.
 */
export async function runClockCheck(caller: Caller, watch: Watch, end: Bell): Promise<void> {
  let ended = false;
  end.once(() => {
    ended = true;
  });
  let askedAt = -Infinity;
  while (!ended) {
    const now = watch.now();
    if (now.mono - askedAt >= queryEveryMs || watch.check(now) !== undefined) {
      askedAt = now.mono;
      await queryMember(caller, watch).catch(() => undefined); // without an answer, nothing changes
    }
    watch.advance();
    if (!ended) {
      await sleep(checkEveryMs, [end], true);
    }
  }
}

async function queryMember(caller: Caller, watch: Watch): Promise<void> {
  const began = watch.now();
  const status = await caller.call(rules.getStatus, {}, { timeoutMs: queryMs });
  const tookMs = watch.now().mono - began.mono;
  const config = object(status, "config");
  const waitThresholdMs = safe(config["waitThresholdMs"], "waitThresholdMs");
  const maxOffsetMs = safe(config["maxClockOffsetMs"], "maxClockOffsetMs");
  if (waitThresholdMs > 0 && maxOffsetMs > 0) {
    watch.setLimits({ waitThresholdMs, maxOffsetMs, swap: config["rollback"] === "swap" });
  }
  if (text(status, "leaderId") !== "") { // without a leader, the replica may be old
    watch.observe(safe(status["observedClockAtMs"], "observedClockAtMs"));
  }
  const clock = safe(status["clockAtMs"], "clockAtMs");
  if (clock > 0 && tookMs <= watch.limits.maxOffsetMs) { // after a longer time, the offset is too inexact
    watch.observePeer(text(status, "memberId"), clock - safe(status["clockOffsetMs"], "clockOffsetMs"), tookMs);
  }
  if (status["sealed"] !== undefined) {
    caller.sealed.ring();
  }
}
