import { hostname } from "node:os";
import { pid } from "node:process";
import type { HolderProcess } from "./granter.js";

/** The version of this package. */
export const version = "0.1.0";

const mostBytes = 128;

/** hostName returns the name of this host, as far as it can name a holder. */
export function hostName(): string {
  return hostname().replace(/\s/g, "-").slice(0, mostBytes - 3) || "unknown";
}

/** thisProcess describes this process to people. */
export function thisProcess(kind: string): HolderProcess {
  return { host: hostName(), processId: `${pid}`, kind, version: `typescript ${version}` };
}
