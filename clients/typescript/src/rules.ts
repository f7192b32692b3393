/** Rule says how the calls of a method are served and repeated, as in proto/snowraft/v1. */
export interface Rule {
  readonly verb: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The leader serves the calls: other members forward them. */
  readonly leader: boolean;
  /** When to send a request again: after any error, only if nothing was done, or never. */
  readonly repeat: "harmless" | "undone" | "never";
  /** The call may change what the cluster keeps. */
  readonly changes: boolean;
  /** The time until another member is tried, in milliseconds; 0: until the deadline of the call. */
  readonly tryMs: number;
  /** The time without an answer after which a member is suspected. */
  readonly suspectMs: number;
  /** Requests bring the latest receipt back. */
  readonly receipt: boolean;
  /** What this process holds depends on the call: it waits for no other call, and goes on while the client closes. */
  readonly urgent: boolean;
}

const memoryMs = 500; // members answer from memory
const memorySuspectMs = 100;
const leaderMs = 4_000; // members wait up to 2 s for a leader

const memory = { leader: false, repeat: "harmless", changes: false, tryMs: memoryMs, suspectMs: memorySuspectMs, receipt: false, urgent: false } as const;
const leader = { leader: true, repeat: "harmless", changes: true, tryMs: leaderMs, suspectMs: leaderMs, receipt: false, urgent: false } as const;
/** Changes of sequences wait for other members. */
const change = { leader: true, repeat: "undone", changes: true, tryMs: 0, suspectMs: leaderMs, receipt: false, urgent: false } as const;
const lease = { leader: true, repeat: "never", changes: true, tryMs: leaderMs, suspectMs: leaderMs, receipt: true, urgent: true } as const;

/** The rules of the methods that this client calls. */
export const rules = {
  generateIds: { ...memory, verb: "POST", path: "/v1/ids:generate" },
  generateUuids: { ...memory, verb: "POST", path: "/v1/uuids:generate" },
  getLayout: { ...memory, verb: "GET", path: "/v1/layouts/" },
  listLayouts: { ...memory, verb: "GET", path: "/v1/layouts" },
  createLayout: { ...leader, tryMs: 0, verb: "POST", path: "/v1/layouts" },
  getStatus: { ...memory, receipt: true, verb: "GET", path: "/v1/status" },
  listMembers: { ...memory, receipt: true, verb: "GET", path: "/v1/members" },
  getSequence: { ...leader, changes: false, verb: "GET", path: "/v1/sequences/" },
  listSequences: { ...memory, tryMs: leaderMs, verb: "GET", path: "/v1/sequences" },
  lastNumber: { ...leader, changes: false, verb: "GET", path: "/v1/sequences:last" },
  decodeText: { ...leader, changes: false, verb: "POST", path: "/v1/sequences:decode" },
  nextNumbers: { ...leader, verb: "POST", path: "/v1/sequences:next" },
  createSequence: { ...leader, tryMs: 0, verb: "POST", path: "/v1/sequences" },
  createSequenceByForce: { ...change, verb: "POST", path: "/v1/sequences" },
  updateSequence: { ...change, verb: "PATCH", path: "/v1/sequences/" },
  deleteSequence: { ...change, verb: "DELETE", path: "/v1/sequences/" },
  setNext: { ...change, verb: "POST", path: "/v1/sequences:setNext" },
  reserveNumbers: { ...leader, verb: "POST", path: "/v1/reservations:reserve" },
  confirmNumbers: { ...leader, verb: "POST", path: "/v1/reservations:confirm" },
  voidNumbers: { ...leader, verb: "POST", path: "/v1/reservations:void" },
  listReservations: { ...leader, changes: false, verb: "GET", path: "/v1/reservations" },
  allocateBlock: { ...leader, receipt: true, urgent: true, verb: "POST", path: "/v1/blocks:allocate" },
  returnBlock: { ...change, urgent: true, verb: "POST", path: "/v1/blocks:return" },
  acquireWorker: { ...lease, verb: "POST", path: "/v1/workers:acquire" },
  extendWindow: { ...lease, verb: "POST", path: "/v1/workers:extend" },
  releaseWorker: { ...lease, repeat: "undone", verb: "POST", path: "/v1/workers:release" },
} as const satisfies Record<string, Rule>;
