import { uptime } from "node:os";
import { performance } from "node:perf_hooks";

/** Clock is a source of time. Tests may replace it. */
export interface Clock {
  /** Returns the wall clock in Unix milliseconds. It may jump in both directions. */
  wall(): number;
  /** Returns the monotonic clock in milliseconds since any fixed moment. It never jumps. */
  monotonic(): number;
}

/** SuspendableClock also knows for how long the machine was suspended: its monotonic clock stands still meanwhile. */
export interface SuspendableClock extends Clock {
  /** Returns the time of all suspensions in milliseconds, plus a constant; undefined if it is not known now. */
  suspended?(): number | undefined;
}

/** systemClock reads the clocks of this machine. */
export const systemClock: SuspendableClock = { wall: () => Date.now(), monotonic: () => performance.now(), suspended };

/** Readings of clocks within this time count as readings of one moment. */
const exactMs = 5;
const mostReadings = 10;

function suspended(): number | undefined {
  const before = performance.now();
  const up = uptime() * 1_000; // goes on during a suspension
  const after = performance.now();
  return after - before < exactMs ? up - after : undefined;
}

/** Reading is both clocks at one moment, in whole milliseconds. */
export interface Reading {
  readonly wall: number;
  readonly mono: number;
}

/** read reads both clocks at one moment: it reads them again if the process had to wait between the readings. */
export function read(clock: Clock): Reading {
  let best = Infinity;
  let reading: Reading = { wall: 0, mono: 0 };
  for (let i = 0; i < mostReadings && best > exactMs; i++) {
    const before = clock.monotonic();
    const wall = clock.wall();
    const mono = clock.monotonic();
    if (mono - before < best) {
      best = mono - before;
      reading = { wall: Math.floor(wall), mono: Math.floor(mono) };
    }
  }
  return reading;
}
