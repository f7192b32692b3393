/** The length of the first window of a worker. */
export const firstWindowMs = 2_000;
const defaultWindowMs = 600_000;
const minBackoffMs = 50;
/** The longest pause between failed requests, unless the window lasts for long. */
export const maxBackoffMs = 1_000;

/**
 * SlowStart decides how long a window to request: 2 s at first, two to four times as much after each extension. A process that
 * crashes in a loop thus discards seconds of a worker. It also decides when to extend, so that many processes drift apart.
 */
export class SlowStart {
  current = 0;
  coming = 0;
  #reached = 0;
  #max = 0;
  #apart = false;

  /** Starts over with a new worker. */
  begin(maxWindowMs: number): void {
    this.current = firstWindowMs;
    this.#apart = false;
    this.#limit(maxWindowMs);
  }

  /** Records that an extension was granted. */
  extended(maxWindowMs: number): void {
    this.current = this.coming;
    this.#reached = Math.max(this.#reached, this.current);
    this.#limit(maxWindowMs);
  }

  /** Records that an extension was not granted: other lanes may have failed at the same time. */
  failed(): void {
    this.#apart = false;
  }

  #limit(maxWindowMs: number): void {
    this.#max = maxWindowMs > 0 ? maxWindowMs : defaultWindowMs;
    this.coming = Math.floor(Math.min(Math.max(this.current * (2 + 2 * Math.random()), this.#reached), this.#max));
  }

  /** Returns the time until the window is extended, given the time that is left of it. */
  extendAfterMs(leftMs: number): number {
    const left = Math.max(0, Math.min(leftMs, this.current));
    let after = left / 2 + (Math.random() * left) / 20;
    if (this.current < this.#max) {
      after = left / 4 + (Math.random() * left) / 4;
    } else if (!this.#apart) {
      after = (Math.random() * left) / 2;
      this.#apart = true;
    }
    return Math.max(after, minBackoffMs);
  }
}

/** backoffMs returns the pause after that many failures in a row: 50 ms, doubled up to mostMs, less a random part of up to a half. */
export function backoffMs(failures: number, mostMs: number): number {
  const pause = Math.min(minBackoffMs * 2 ** Math.min(Math.max(0, failures - 1), 16), mostMs);
  return Math.max(minBackoffMs, pause * (1 - Math.random() / 2));
}
