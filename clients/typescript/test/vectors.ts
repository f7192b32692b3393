import { readFileSync } from "node:fs";

/** vectors returns a file of proto/vectors. */
export function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../../../proto/vectors/${name}`, import.meta.url), "utf8")) as T;
}
