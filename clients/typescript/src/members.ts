import { isAddress } from "./address.js";
import type { Caller } from "./caller.js";
import { rules } from "./rules.js";
import { Bell, sleep } from "./wait.js";
import { list, text, type Json } from "./wire.js";

/** The interval of requests for the list of members. It doubles up to 16 times this while the list stays the same and members answer. */
const firstMs = 10_000;
const longestMs = 160_000;
/** The least time between two requests. A member that does not answer makes the next one due. */
const pauseMs = 1_000;
const requestMs = 5_000;
const mostMembers = 1_000;

/**
 * Members learns the addresses of the cluster's members. The given addresses stay in use beside the advertised ones, because
 * those may not be reachable from here; a given address that was advertised once and is not now belongs to a removed member.
 */
export class Members {
  readonly #caller: Caller;
  readonly #seeds: readonly string[];
  readonly #advertised = new Set<string>(); // seeds that were advertised at some time
  readonly #end = new Bell();
  #started = false;
  #ended = false;

  constructor(caller: Caller, seeds: readonly string[]) {
    this.#caller = caller;
    this.#seeds = seeds;
  }

  /** Begins to follow the membership, unless that began before. */
  start(): void {
    if (!this.#started && !this.#ended) {
      this.#started = true;
      void this.#run();
    }
  }

  stop(): void {
    this.#ended = true;
    this.#end.ring();
  }

  async #run(): Promise<void> {
    let broken = true; // a member did not answer since the last request
    for (let every = firstMs; !this.#ended; ) {
      const changed = await this.#refresh().catch(() => true);
      every = changed || broken ? firstMs : Math.min(2 * every, longestMs);
      broken = false;
      const cancel = this.#caller.broken.once(() => { broken = true; });
      if (!this.#ended) {
        await sleep(pauseMs, [this.#end], true);
      }
      if (!this.#ended && !broken) {
        await sleep(every * (1 - Math.random() / 4) - pauseMs, [this.#end, this.#caller.broken], true);
      }
      cancel();
    }
  }

  /** Requests the list once, and reports whether the addresses changed. */
  async #refresh(): Promise<boolean> {
    const answer = await this.#caller.call(rules.listMembers, {}, { timeoutMs: requestMs });
    const members = list(answer, "members") as Json[];
    const learned: string[] = [];
    let leader = "";
    for (const member of members) {
      const address = text(member, "httpAddress");
      if (!isAddress(address) || learned.length >= mostMembers) {
        continue; // empty if the member does not advertise HTTP
      }
      learned.push(address);
      if (this.#seeds.includes(address)) {
        this.#advertised.add(address);
      }
      if (member["leader"] === true) {
        leader = address;
      }
    }
    const seeds = this.#seeds.filter((a) => learned.length === 0 || !this.#advertised.has(a) || learned.includes(a));
    const addresses = [...new Set([...learned, ...seeds])];
    const before = this.#caller.standing.addresses;
    this.#caller.standing.learn(addresses, leader);
    return addresses.length !== before.length || addresses.some((a) => !before.includes(a));
  }
}
