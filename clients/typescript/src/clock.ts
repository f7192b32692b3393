import { performance } from "node:perf_hooks";

/** Clock is a source of time. Tests may replace it. */
export interface Clock {
  /** Returns the wall clock in Unix milliseconds. It may jump in both directions. */
  wall(): number;
  /** Returns the monotonic clock in milliseconds since any fixed moment. It never jumps. */
  monotonic(): number;
}

/** systemClock reads the clocks of this machine. */
export const systemClock: Clock = { wall: () => Date.now(), monotonic: () => performance.now() };

/** Reading is both clocks at one moment, in whole milliseconds. */
export interface Reading {
  readonly wall: number;
  readonly mono: number;
}

/** read reads both clocks. */
export function read(clock: Clock): Reading {
  return { wall: Math.floor(clock.wall()), mono: Math.floor(clock.monotonic()) };
}
