import type { CallOptions } from "./caller.js";
import { checkAfter, checkCount } from "./errors.js";
import { idsOf, type Ids } from "./ids.js";

const mostIds = 1_000_000;

/**
 * Session issues IDs in order: a call that begins after another one has returned gets greater IDs, whichever members serve the
 * calls. A member whose clock is behind the last ID waits for up to the wait threshold of the cluster.
 */
export class Session {
  readonly #ids: Ids;
  #last: bigint;

  /** @internal Use Client.session. */
  constructor(ids: Ids, after: bigint) {
    checkAfter(after);
    this.#ids = ids;
    this.#last = after;
  }

  /** The greatest ID that the session has issued, or its initial floor. To continue elsewhere, pass it as after. */
  get last(): bigint {
    return this.#last;
  }

  /** Returns the next ID. */
  async next(options: CallOptions = {}): Promise<bigint> {
    return (await this.batch(1, options))[0] as bigint;
  }

  /** Returns count IDs, 1 to 1,000,000, in ascending order. */
  async batch(count: number, options: CallOptions = {}): Promise<bigint[]> {
    checkCount(count, mostIds, "IDs");
    const ranges = await this.#ids.fetch(count, this.#last, options);
    const ids = idsOf(ranges, 0, count).sort((a, b) => (a < b ? -1 : 1)); // ranges of several lanes are in no order
    const greatest = ids[ids.length - 1] as bigint;
    if (greatest > this.#last) {
      this.#last = greatest;
    }
    return ids;
  }
}
