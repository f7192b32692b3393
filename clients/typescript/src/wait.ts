import { invalid } from "./errors.js";

/** The longest time of a timer, about 25 days. */
const longestMs = 0x7fffffff;

/** timeoutOf returns the time limit of options, at most that of a timer. It throws unless the limit is greater than 0. */
export function timeoutOf({ timeoutMs }: { timeoutMs?: number | undefined }, defaultMs: number): number {
  const ms = timeoutMs ?? defaultMs;
  if (!(ms > 0)) {
    throw invalid(`timeout ${ms} ms: must be greater than 0`);
  }
  return Math.min(ms, longestMs);
}

/** Bell wakes everyone who waits for it. */
export class Bell {
  #waiting = new Set<() => void>();

  /** Calls wake once at the next ring. The result cancels that. */
  once(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) {
      wake();
    }
  }
}

/**
 * sleep waits for ms milliseconds or until a bell rings. background sleeps do not keep the process alive.
 */
export function sleep(ms: number, bells: readonly Bell[] = [], background = false): Promise<void> {
  return new Promise((resolve) => {
    const cancels: (() => void)[] = [];
    const timer = setTimeout(done, Math.min(Math.max(0, ms), longestMs));
    function done(): void {
      clearTimeout(timer);
      for (const cancel of cancels) {
        cancel();
      }
      resolve();
    }
    for (const bell of bells) {
      cancels.push(bell.once(done));
    }
    if (background) {
      timer.unref();
    }
  });
}

/** within waits until a promise is settled, for at most ms milliseconds or until a bell rings. It never rejects, and leaves no timer. */
export async function within(promise: Promise<unknown>, ms: number, bells: readonly Bell[] = []): Promise<void> {
  const settled = new Bell();
  const ring = (): void => settled.ring();
  promise.then(ring, ring);
  await sleep(ms, [settled, ...bells]);
}
