package io.snowraft.client;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The IDs of one answer. The position is the number of attempts to take an ID; it only increases. The ID at an index belongs to the caller
 * that moved the position past it.
 */
final class BufferChunk {
    private static final long CLOSED = 1L << 62; // additions of 1 reach it neither from 0, nor an overflow from it
    private static final VarHandle POSITION;

    static {
        try {
            POSITION = MethodHandles.lookup().findVarHandle(BufferChunk.class, "position", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long[] ids;
    final long born; // monotonic ms at the request: the IDs are not older
    final int mark; // the caller that takes the ID at this index wakes the filler
    volatile BufferChunk next; // null: the last one
    private volatile long position;

    BufferChunk(long[] ids, long born, int mark) {
        this.ids = ids;
        this.born = born;
        this.mark = mark;
    }

    /** Takes an index. It belongs to the caller if it is less than {@link #size}. */
    long take() {
        return position >= ids.length ? ids.length : (long) POSITION.getAndAdd(this, 1L);
    }

    int size() {
        return ids.length;
    }

    long id(long index) {
        return ids[(int) index];
    }

    int left() {
        return (int) (ids.length - Math.min(position, ids.length));
    }

    /** Ends the chunk, and returns how many IDs were not taken: none is afterwards. */
    int close() {
        return (int) (ids.length - Math.min((long) POSITION.getAndSet(this, CLOSED), ids.length));
    }
}
