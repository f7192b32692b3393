package io.snowraft.internal.call;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The latest receipt that members handed to this client. The client brings it back, so that a cluster that was set back in time learns what
 * it has forgotten.
 */
final class Receipts {
    private static final int VERSION = 1;
    private static final int SIZE = 97;
    private static final int CLUSTER_AT = 5;
    private static final int CLUSTER_BYTES = 16;
    private static final int LIFE_AT = CLUSTER_AT + CLUSTER_BYTES;
    private static final int INDEX_AT = LIFE_AT + Integer.BYTES;
    private static final int HASH_INDEX_AT = INDEX_AT + Long.BYTES + 16;

    private final AtomicReference<byte[]> latest = new AtomicReference<>();

    /** Returns the latest receipt in base64; empty if there is none. */
    String header() {
        byte[] receipt = latest.get();
        return receipt == null ? "" : Base64.getEncoder().encodeToString(receipt);
    }

    /** Keeps a receipt if it is later than the present one. It ignores a malformed one. */
    void keep(byte[] receipt) {
        if (receipt.length != SIZE || receipt[0] != VERSION || Long.compareUnsigned(at(receipt, HASH_INDEX_AT), at(receipt, INDEX_AT)) > 0) {
            return;
        }
        latest.updateAndGet(held -> held == null || follows(receipt, held) ? receipt : held);
    }

    /**
     * Reports whether a receipt takes the place of another one. Those of two clusters with equally many lives are in no order: the last one
     * counts, which is of the cluster that the process uses now.
     */
    private static boolean follows(byte[] a, byte[] b) {
        int lives = Integer.compareUnsigned(ByteBuffer.wrap(a).getInt(LIFE_AT), ByteBuffer.wrap(b).getInt(LIFE_AT));
        if (lives != 0) {
            return lives > 0;
        }
        boolean same = Arrays.equals(a, CLUSTER_AT, LIFE_AT, b, CLUSTER_AT, LIFE_AT);
        return !same || Long.compareUnsigned(at(a, INDEX_AT), at(b, INDEX_AT)) > 0;
    }

    private static long at(byte[] receipt, int index) {
        return ByteBuffer.wrap(receipt).getLong(index);
    }
}
