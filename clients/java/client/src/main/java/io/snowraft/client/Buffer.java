package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.http.Deadline;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Holds IDs that it fetched in advance. While it has IDs, {@link #next} takes no lock, allocates nothing, and does not read the clock. It
 * fetches IDs in the background when a third is left, and every second. Each ID is returned to one caller or dropped. IDs are in no order.
 *
 * <p>While no member can be reached, a buffer issues the IDs that it holds, until they are too old. The methods are safe for concurrent use.
 */
public final class Buffer implements Suspendable {
    private static final Duration FILL_EVERY = Duration.ofSeconds(1);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);
    private static final int MAX_FETCH = 100_000;

    /**
     * The counters of a buffer since its creation.
     *
     * @param level   IDs in the buffer now
     * @param fetched IDs ever fetched
     * @param dropped IDs dropped because of their age
     * @param waited  calls that found the buffer empty
     */
    public record Stats(int level, long fetched, long dropped, long waited) {
    }

    private final Caller caller;
    private final Ids ids;
    private final BufferOptions options;
    private final Runnable whenClosed;
    private final Consumer<SnowraftException> seal = this::seal;
    private final AtomicBoolean filling = new AtomicBoolean(); // a fill is scheduled or in progress
    private volatile BufferChunk current; // linked to the later ones
    private volatile boolean closed;
    private volatile boolean suspended;
    private volatile long drops; // how often IDs that were on their way were dropped

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition filled = lock.newCondition(); // an answer has arrived, or the buffer was closed
    private BufferChunk last;
    private long fetched;
    private long dropped;
    private long waited;
    private SnowraftException problem; // of the last request; null after a success

    Buffer(Caller caller, Ids ids, BufferOptions options, Consumer<Buffer> whenClosed) {
        this.caller = caller;
        this.ids = ids;
        this.options = options;
        this.whenClosed = () -> whenClosed.accept(this);
        current = new BufferChunk(new long[0], now(), -1);
        last = current;
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }

    /** Begins to fill the buffer. */
    void start() {
        caller.onSealed(seal);
        tick();
    }

    /**
     * Returns an ID. When the buffer is empty, it waits for at most the client's timeout or, with {@link BufferOptions#failFast}, fails at
     * once with {@link Reason#EMPTY}.
     */
    public long next() {
        BufferChunk c = current;
        long index = c.take();
        if (index < c.size()) {
            if (index == c.mark) {
                fill();
            }
            return c.id(index);
        }
        return await();
    }

    /** Returns an ID if the buffer has one, otherwise 0. It does not wait. */
    public long tryNext() {
        for (;;) {
            BufferChunk c = current;
            long index = c.take();
            if (index < c.size()) {
                if (index == c.mark) {
                    fill();
                }
                return c.id(index);
            }
            if (c.next == null) {
                return 0;
            }
            advance(c);
        }
    }

    /** Moves on from a chunk that is used up or closed. */
    private void advance(BufferChunk from) {
        lock.lock();
        try {
            if (current == from && from.next != null) {
                current = from.next;
            }
        } finally {
            lock.unlock();
        }
    }

    private long await() {
        long id = tryNext();
        if (id != 0) {
            return id;
        }
        fill();
        lock.lock();
        try {
            waited++;
            Deadline deadline = Deadline.after(caller.timeout());
            for (;;) {
                id = tryNext();
                if (id != 0) {
                    return id;
                }
                SnowraftException gap = gap(deadline.passed());
                if (gap != null) {
                    throw gap;
                }
                fill();
                filled.awaitNanos(deadline.left());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for the buffer");
        } finally {
            lock.unlock();
        }
    }

    /** Returns why to stop waiting for an ID; null if waiting may help. Requires the lock. */
    private SnowraftException gap(boolean late) {
        if (closed || caller.isClosed()) {
            return Answers.closed("buffer");
        }
        if (problem != null && problem.isLasting()) {
            return problem.copy();
        }
        if (!late && !options.failFast()) {
            return null;
        }
        String text = "the buffer is empty" + (problem == null ? "" : " and the cluster returned no IDs: " + problem.text());
        return SnowraftException.of(Reason.EMPTY, Reason.EMPTY.name(), text, "", Duration.ZERO, true, false, problem);
    }

    /** Starts to fill the buffer in the background, unless a fill is in progress. */
    private void fill() {
        if (filling.compareAndSet(false, true)) {
            caller.background().execute(() -> fillNow(FIRST_PAUSE));
        }
    }

    /** Fetches IDs until the buffer is full. */
    private void fillNow(Duration pause) {
        try {
            for (long before = drops; !closed && !suspended && missing() > 0; before = drops) {
                long asked = now();
                int count = Math.min(missing(), MAX_FETCH);
                append(ids.fetch(count, 0).part(0, count), asked, before);
            }
        } catch (SnowraftException e) {
            fail(e);
            Duration longer = pause.multipliedBy(2);
            caller.background().schedule(() -> fillNow(longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE), pause);
            return;
        }
        filling.set(false);
    }

    private int missing() {
        return options.size() - level();
    }

    private int level() {
        int level = 0;
        for (BufferChunk c = current; c != null; c = c.next) {
            level += c.left();
        }
        return level;
    }

    /** Adds IDs to the buffer, unless those on their way were dropped since the request. */
    private void append(long[] some, long asked, long dropsBefore) {
        lock.lock();
        try {
            if (drops != dropsBefore) {
                return;
            }
            int low = options.size() / 3;
            BufferChunk chunk = new BufferChunk(some, asked, Math.max(0, some.length - low - 1));
            last.next = chunk;
            last = chunk;
            fetched += some.length;
            problem = null;
            filled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void fail(SnowraftException e) {
        lock.lock();
        try {
            problem = e;
            filled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Drops IDs that are too old, and fills the buffer. */
    private void tick() {
        if (closed) {
            return;
        }
        dropUntil(now() - options.maxAge().toMillis());
        fill();
        Duration age = options.maxAge().dividedBy(10);
        caller.background().schedule(this::tick, age.compareTo(FILL_EVERY) < 0 ? age : FILL_EVERY);
    }

    private void dropUntil(long born) {
        lock.lock();
        try {
            for (BufferChunk c = current; c.born <= born; c = c.next) {
                dropped += c.close();
                if (c.next == null) {
                    break;
                }
                current = c.next;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns the counters. */
    public Stats stats() {
        lock.lock();
        try {
            return new Stats(level(), fetched, dropped, waited);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the buffer has IDs, for at most the given time. It takes none. */
    public void ready(Duration limit) {
        lock.lock();
        try {
            Deadline deadline = Deadline.after(limit);
            while (level() == 0) {
                boolean late = deadline.passed();
                SnowraftException gap = gap(late);
                if (gap != null && (late || gap.reason() != Reason.EMPTY)) {
                    throw gap;
                }
                filled.awaitNanos(deadline.left());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for the buffer");
        } finally {
            lock.unlock();
        }
    }

    /** Drops the IDs, because the cluster was set back and may issue them twice. */
    private void seal(SnowraftException reason) {
        lock.lock();
        try {
            drop();
            problem = reason;
            filled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Drops the IDs, and those that are on their way. Requires the lock. */
    private void drop() {
        drops++;
        dropUntil(Long.MAX_VALUE);
    }

    /** Drops the IDs, and fetches none until {@link #resume}. */
    @Override
    public void suspend() {
        lock.lock();
        try {
            suspended = true;
            drop();
        } finally {
            lock.unlock();
        }
    }

    /** Fetches IDs again. */
    @Override
    public void resume() {
        suspended = false;
        fill();
    }

    /** Drops the IDs. Waiting calls and later calls fail with {@link Reason#CLOSED}. */
    @Override
    public void close() {
        closed = true;
        caller.offSealed(seal);
        lock.lock();
        try {
            drop();
            filled.signalAll();
        } finally {
            lock.unlock();
        }
        whenClosed.run();
    }
}
