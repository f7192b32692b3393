/** Repeat says whether a failed request may be sent again unchanged. */
export type Repeat = "yes" | "later" | "method" | "no";

const repeats: Readonly<Record<string, Repeat>> = {
  NO_LEADER: "yes",
  NOT_LEADER: "yes",
  COMMIT_UNKNOWN: "method",
  SHUTTING_DOWN: "yes",
  OVERLOADED: "yes",
  WINDOW_ENDED: "yes",
  CLOCK_BEHIND: "yes",
  CLOCK_SKEW: "yes",
  WORKERS_EXHAUSTED: "yes",
  FENCED: "yes",
  SEQUENCE_CHANGED: "method",
  OLD_CLUSTER_ALIVE: "yes",
  CONTRADICTED: "yes",
  RESERVATIONS_OPEN: "later",
  RATE_LIMITED: "later",
  NAMES_INCOMPLETE: "yes",
  MEMBER_UNREACHABLE: "later",
  MEMBER_NOT_ALIVE: "later",
  // The client's own reasons.
  WAIT: "yes",
  EMPTY: "yes",
  UNAVAILABLE: "yes",
  TIMEOUT: "method",
};

/** repeatOf returns the entry of a reason in the table of docs/errors.md. Treat an unknown reason as "no". */
export function repeatOf(reason: string): Repeat {
  return Object.hasOwn(repeats, reason) ? (repeats[reason] as Repeat) : "no";
}

/** mayBeDone reports whether a request that failed with a member's reason may have had an effect. */
export function mayBeDone(reason: string): boolean {
  return reason === "COMMIT_UNKNOWN" || reason === "INTERNAL";
}
