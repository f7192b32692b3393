package io.snowraft.client;

/** What {@link Blocks} know of the blocks that were granted, to judge further ones. Guarded by the lock of {@link Blocks}. */
final class BlockLedger {
    private BlockStock.Epoch known = new BlockStock.Epoch(0, 0);
    private long token; // greatest token of a granted block
    private long floor; // blocks with a lower token are not used
    private BlockStock accepted; // the last block that was accepted; null if any block may follow

    /** Learns the present epoch of the sequence. */
    void learn(BlockStock.Epoch epoch) {
        known = known.before(epoch) ? epoch : known;
    }

    /** Learns that the sequence was deleted. A new one of its name starts over. */
    void deleted() {
        drop();
        known = new BlockStock.Epoch(0, 0);
        accepted = null;
    }

    /** Makes all blocks so far outdated. */
    void drop() {
        floor = token + 1;
    }

    /**
     * Records a granted block, and reports whether it may be used. It throws an exception if the block cannot follow the one before: accepting
     * a wrong one could repeat numbers, and ignoring a right one only skips its numbers.
     */
    boolean accept(BlockStock b) {
        if (!follows(b)) {
            throw SnowraftException.malformed("a block that does not follow the one before: token " + Long.toUnsignedString(b.token) + ", " + b.count
                    + " numbers from " + b.first + " by " + b.increment);
        }
        token = b.token;
        if (isOutdated(b)) {
            return false;
        }
        learn(b.epoch);
        accepted = b;
        return true;
    }

    private boolean follows(BlockStock b) {
        if (Long.compareUnsigned(b.token, token) <= 0) {
            return false;
        }
        if (accepted == null || !b.epoch.equals(accepted.epoch)) {
            return true;
        }
        long end = accepted.number(accepted.count - 1);
        return b.increment == accepted.increment && b.first != end && b.first > end == b.increment > 0;
    }

    /** Reports whether a block must not be used. */
    boolean isOutdated(BlockStock b) {
        return b.epoch.before(known) || Long.compareUnsigned(b.token, floor) < 0;
    }

    /** Reports whether no block was granted after this one. */
    boolean isLast(BlockStock b) {
        return b.token == token;
    }
}
