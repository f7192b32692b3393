import { isBefore, isSame, type Block, type Epoch } from "./stock.js";

/** Ledger is what a process knows of the blocks of one sequence. It decides which blocks may be used. */
export class Ledger {
  /** Greatest token of a granted block. */
  token = 0n;
  /** Whether the sequence does not exist, as far as is known here. */
  #gone = false;
  #known: Epoch = { generation: 0n, period: "" };
  /** Blocks with a lower token are not used. */
  #floor = 0n;
  #last: { readonly end: bigint; readonly increment: bigint; readonly epoch: Epoch } | undefined;

  /** Whether a block can follow the last one. Accepting a wrong block could repeat numbers; ignoring a right one only skips its numbers. */
  follows(b: Block): boolean {
    if (b.token <= this.token) {
      return false;
    }
    const last = this.#last;
    if (last === undefined || !isSame(b, last.epoch)) {
      return true;
    }
    return b.increment === last.increment && b.first !== last.end && b.first > last.end === last.increment > 0n;
  }

  /** Whether a block must not be used. */
  isOutdated(b: Block): boolean {
    return this.#gone || isBefore(b, this.#known) || b.token < this.#floor;
  }

  /** Records a block that will be used. */
  accepted(b: Block): void {
    if (isBefore(this.#known, b)) {
      this.#known = b;
    }
    this.#last = { end: b.first + BigInt(b.count - 1) * b.increment, increment: b.increment, epoch: b };
  }

  /** Learns the present epoch of the sequence. An older one, of a replica that lags, changes nothing. */
  learn(epoch: Epoch): void {
    if (this.#gone || isBefore(this.#known, epoch)) {
      this.#gone = false;
      this.#known = epoch;
    }
  }

  /** Makes all blocks that were granted so far unusable. */
  drop(): void {
    this.#floor = this.token + 1n;
  }
}
