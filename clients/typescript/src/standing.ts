import { performance } from "node:perf_hooks";

/**
 * The time for which a member that did not answer is called only if no other one is left. It doubles with each failure in a row,
 * because an address that a member advertises may not be reachable from here at all.
 */
const suspicionMs = 5_000;
const longestMs = 80_000;

/** Standing is what a client knows of the members, by address. */
export class Standing {
  #addresses: readonly string[];
  #leader = "";
  #leaderless = ""; // the last member that knew no leader, while the leader is unknown
  readonly #suspects = new Map<string, { until: number; ms: number }>();
  readonly #calls = new Map<string, number>();

  readonly #now: () => number;

  /** now reads the monotonic clock, in milliseconds. */
  constructor(seeds: readonly string[], now = (): number => performance.now()) {
    this.#addresses = seeds;
    this.#now = now;
  }

  /** The addresses in use. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Sets the addresses in use and that of the leader; empty if unknown. */
  learn(addresses: readonly string[], leader: string): void {
    this.#addresses = addresses;
    this.#leader = leader;
    this.#leaderless = "";
    for (const address of this.#suspects.keys()) {
      if (!addresses.includes(address)) {
        this.#suspects.delete(address);
      }
    }
  }

  suspect(address: string): void {
    const ms = Math.min(2 * (this.#suspects.get(address)?.ms ?? suspicionMs / 2), longestMs);
    this.#suspects.set(address, { until: this.#now() + ms, ms });
    if (this.#leader === address) {
      this.#leader = "";
    }
  }

  trust(address: string): void {
    this.#suspects.delete(address);
  }

  /** Notes that a member knows no leader. It may have led before it lost the majority, and other members may know its successor. */
  withoutLeader(address: string): void {
    if (this.#leader === "" || this.#leader === address) {
      this.#leader = "";
      this.#leaderless = address;
    }
  }

  /**
   * Returns the address to call next, and whether there are others left after it. It prefers members that were not tried,
   * then those that are not suspected, then the leader if toLeader, or any but the last one that knew none, then those with the fewest calls.
   */
  pick(tried: readonly string[], toLeader: boolean): { address: string; others: boolean } {
    const now = this.#now();
    let best = "";
    let least = Infinity;
    let fresh = 0;
    for (const address of this.#addresses) {
      const isTried = tried.includes(address);
      fresh += isTried ? 0 : 1;
      const objection = (isTried ? 8 : 0) + ((this.#suspects.get(address)?.until ?? 0) > now ? 4 : 0) +
        (toLeader && (this.#leader === "" ? address === this.#leaderless : address !== this.#leader) ? 2 : 0) +
        Math.min(1, (this.#calls.get(address) ?? 0) / 100) + Math.random() / 200;
      if (objection < least) {
        least = objection;
        best = address;
      }
    }
    return { address: best, others: fresh > 1 };
  }

  /** Counts a call to a member until the result is called. */
  begin(address: string): () => void {
    this.#calls.set(address, (this.#calls.get(address) ?? 0) + 1);
    const suspect = this.#suspects.get(address);
    if (suspect !== undefined) {
      suspect.until = this.#now() + suspect.ms; // if the member still hangs, only one call waits for it
    }
    return () => {
      const left = (this.#calls.get(address) ?? 1) - 1;
      if (left > 0) {
        this.#calls.set(address, left);
      } else {
        this.#calls.delete(address);
      }
    };
  }
}
