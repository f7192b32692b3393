package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.Json;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Issues the numbers of a relaxed sequence from blocks in this process's memory, also while no member can be reached. It holds two blocks,
 * and requests the second one in the background, early and large enough for the rate of use. The methods are safe for concurrent use.
 *
 * <p>Numbers are unique in the cluster and ascend in this process (descend, if the increment is negative). Numbers left at a crash stay
 * unused. A change of the sequence takes effect within 3 s. With a strict sequence, calls fail with {@link Reason#STRICT_SEQUENCE}.
 */
public final class Blocks implements Suspendable {
    private static final Duration REFRESH = Duration.ofSeconds(3);
    private static final Duration CALL_LIMIT = Duration.ofSeconds(5);
    private static final long LENIENT = 100; // ms between requests while a period has ended by this clock but not by the cluster's
    private static final long LOOKS = 16; // how often callers check the pace during a block
    private static final int MAX_SHORT = 3; // blocks that are too short for a caller before it gets an error

    private final Caller caller;
    private final String sequence;
    private final Clock clock;
    private final BlockWatch watch;
    private final Runnable whenClosed;
    private final Consumer<SnowraftException> seal = this::seal;
    private final byte[] returnKey = new byte[16]; // secret, drawn at each start

    private volatile BlockStock current; // null: none
    private volatile long lenientUntil = Long.MIN_VALUE; // monotonic

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition answered = lock.newCondition();
    private final BlockPacer pacer;
    private BlockStock next; // seen by the lock's holder only
    private final BlockLedger ledger = new BlockLedger();
    private long waiting; // numbers that waiting callers want together
    private long begun; // requests for a block that began
    private boolean requesting;
    private long failedAt; // the last request that failed, and its error
    private SnowraftException failure;
    private long taken; // numbers of earlier blocks
    private long drops; // how often blocks that were on their way were dropped
    private SnowraftException sealed; // the cluster was set back; null if not
    private boolean suspended;
    private boolean closed;

    Blocks(Caller caller, String sequence, int firstSize, Clock clock, Consumer<Blocks> whenClosed) {
        this.caller = caller;
        this.sequence = sequence;
        this.clock = clock;
        this.whenClosed = () -> whenClosed.accept(this);
        this.pacer = new BlockPacer(Answers.checkCount(firstSize, Answers.MAX_COUNT, "numbers of the first block"));
        this.watch = new BlockWatch(caller, sequence, REFRESH, new BlockWatch.Listener() {
            @Override
            public void learned(BlockStock.Epoch epoch) {
                locked(() -> {
                    ledger.learn(epoch);
                    weed();
                });
            }

            @Override
            public void deleted() {
                locked(() -> {
                    ledger.deleted();
                    weed();
                });
            }
        });
        new SecureRandom().nextBytes(returnKey);
    }

    /** Starts to listen for a sealed cluster. */
    void start() {
        caller.onSealed(seal);
    }

    /** Returns the next number. If no block has one, it waits for at most the client's timeout. */
    public long next() {
        if (watch.inUse()) {
            BlockStock b = current;
            if (b != null && !isOver(b)) {
                long index = b.take(1);
                if (index >= 0) {
                    look(b, index + 1);
                    return b.number(index);
                }
            }
        }
        return await(1).first();
    }

    /** Returns the next numbers, 1 to 1,000,000, in one run. */
    public Numbers take(int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        BlockStock b = current;
        if (watch.inUse() && b != null && !isOver(b)) {
            long index = b.take(count);
            if (index >= 0) {
                look(b, index + count);
                return numbers(b, index, count);
            }
        }
        return await(count);
    }

    private static Numbers numbers(BlockStock b, long index, int count) {
        return new Numbers(b.number(index), count, b.increment, b.period, List.of());
    }

    /** Reports whether a block's period has ended by this process's clock, and the cluster has not just confirmed that it continues. */
    private boolean isOver(BlockStock b) {
        return b.periodEnd != 0 && clock.wallMillis() >= b.periodEnd && clock.monotonicMillis() >= lenientUntil;
    }

    /** Checks the pace now and then. */
    private void look(BlockStock b, long position) {
        if (position >= b.mark && lock.tryLock()) {
            try {
                pace();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Requests the next block if it is due, and sets the mark at which a call looks again. Requires the lock. */
    private void pace() {
        BlockStock b = current;
        if (b == null) {
            return;
        }
        long issued = b.taken();
        long mono = clock.monotonicMillis();
        pacer.measure(mono, taken + issued);
        long mark = issued + Math.max(1, b.count / LOOKS);
        if (next == null && !requesting && !suspended) {
            long reserve = pacer.reserve(b.count);
            if (b.count - issued > reserve) {
                mark = Math.min(mark, b.count - reserve);
            } else if (pacer.mayRequest(mono)) {
                request();
            } else {
                mark = issued;
            }
        }
        b.mark = mark;
    }

    private Numbers await(int count) {
        Deadline deadline = Deadline.after(caller.timeout());
        watch.begin(deadline);
        lock.lock();
        waiting += count;
        try {
            long mine = begun + 1; // the first request that is also for this call
            for (;;) {
                if (closed) {
                    throw SnowraftException.unsent(Reason.CLOSED, "the blocks are closed");
                }
                if (sealed != null) {
                    throw sealed.copy();
                }
                Numbers numbers = serve(count);
                if (numbers != null) {
                    pace();
                    return numbers;
                }
                if (failedAt >= mine) {
                    throw failure.copy();
                }
                if (!requesting && begun - mine + 1 >= MAX_SHORT) {
                    throw SnowraftException.unsent(Reason.SEQUENCE_CHANGED, "sequence \"" + sequence
                            + "\": the granted blocks are outdated or have fewer numbers than one call requested; try again with fewer");
                }
                if (deadline.passed()) {
                    throw SnowraftException.unsent(Reason.TIMEOUT, "no block of sequence \"" + sequence + "\" in time");
                }
                if (!requesting && !suspended) {
                    request();
                }
                answered.awaitNanos(deadline.left());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for a number");
        } finally {
            waiting -= count;
            lock.unlock();
        }
    }

    /** Issues numbers from the blocks in memory; null if none can serve. It skips the rest of a block only for the next. Requires the lock. */
    private Numbers serve(int count) {
        for (;;) {
            BlockStock b = current;
            if (b != null && !isOver(b)) {
                long index = b.take(count);
                if (index >= 0) {
                    return numbers(b, index, count);
                }
            }
            BlockStock then = next;
            if (then == null || isOver(then)) {
                return null;
            }
            if (b != null) {
                if (then.continues(b)) {
                    then = b.joined(retire(b), then);
                } else if (then.count >= count || b.taken() == b.count || isOver(b)) {
                    retire(b);
                } else {
                    return null; // both may still serve smaller requests
                }
            }
            next = null;
            current = then;
        }
    }

    /** Closes a block and counts its numbers. Requires the lock. */
    private long retire(BlockStock b) {
        long issued = b.close();
        taken += issued;
        return issued;
    }

    /** Starts a request for a block in the background. Requires the lock. */
    private void request() {
        requesting = true;
        begun++;
        long count = pacer.ask(waiting);
        long before = drops;
        if (!caller.background().execute(() -> allocate(count, before))) {
            requesting = false;
            fail(Answers.closed("client"));
        }
    }

    private void allocate(long count, long dropsBefore) {
        long asked = clock.monotonicMillis();
        long askedWall = clock.wallMillis();
        JsonObject block = null;
        BlockStock stock = null;
        SnowraftException error = null;
        try {
            Json body = new Json().put("sequence", sequence).put("count", count).put("returnKey", returnKey);
            JsonObject answer = caller.call(Request.of(Method.ALLOCATE_BLOCK, "/v1/blocks:allocate", body), Deadline.after(CALL_LIMIT));
            block = Answers.read(answer, a -> a.object("block"));
            stock = Answers.read(block, BlockStock::of);
        } catch (SnowraftException e) {
            error = e;
        }
        lock.lock();
        try {
            requesting = false;
            if (sealed == null && error == null && drops == dropsBefore) {
                pacer.granted(block, clock.monotonicMillis() - asked);
                accept(stock, askedWall);
            } else if (error != null) {
                fail(error);
            }
        } catch (JsonException | SnowraftException e) {
            fail(e instanceof SnowraftException s ? s : SnowraftException.malformed(e.getMessage()));
        } finally {
            answered.signalAll();
            lock.unlock();
        }
    }

    /** Records a failed request. Requires the lock. */
    private void fail(SnowraftException e) {
        pacer.failed(clock.monotonicMillis());
        failedAt = begun;
        failure = e;
    }

    /** Keeps a granted block, if it may be used. Requires the lock. */
    private void accept(BlockStock b, long askedWall) {
        if (!ledger.accept(b)) {
            return;
        }
        weed();
        if (b.periodEnd != 0 && askedWall >= b.periodEnd) {
            lenientUntil = clock.monotonicMillis() + LENIENT; // the cluster granted it anyway, and its clock decides
        }
        if (closed || next == null) {
            next = b;
        } else if (b.continues(next)) {
            next = next.joined(0, b);
        } else { // a caller wants more numbers than the next block has, or a period did not end
            if (current != null) {
                retire(current);
                current = null;
            }
            next = b;
        }
    }

    /** Drops the blocks that must no longer be used. Requires the lock. */
    private void weed() {
        if (current != null && ledger.isOutdated(current)) {
            retire(current);
            current = null;
        }
        if (next != null && ledger.isOutdated(next)) {
            next = null;
        }
    }

    /** Stops permanently, because the cluster was set back and may have granted the blocks twice. */
    private void seal(SnowraftException reason) {
        locked(() -> {
            sealed = reason;
            drop();
        });
    }

    /** Drops all blocks, and those that are on their way. Requires the lock. */
    private void drop() {
        drops++;
        ledger.drop();
        weed();
    }

    /** Drops the blocks, and requests none until {@link #resume}. */
    @Override
    public void suspend() {
        locked(() -> {
            suspended = true;
            drop();
        });
    }

    /** Requests blocks again. */
    @Override
    public void resume() {
        locked(() -> suspended = false);
    }

    private void locked(Runnable task) {
        lock.lock();
        try {
            task.run();
            answered.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Stops issuing, and returns the rest of the last block to the cluster, if no other block was granted since. It waits for at most some
     * seconds. Numbers that are not returned stay unused.
     */
    @Override
    public void close() {
        watch.close();
        caller.offSealed(seal);
        Deadline deadline = Deadline.after(CALL_LIMIT);
        BlockStock rest;
        long unused;
        lock.lock();
        try {
            boolean again = closed;
            closed = true;
            long left = current == null ? 0 : current.count - retire(current);
            answered.signalAll();
            while (requesting && !deadline.passed()) {
                answered.awaitNanos(deadline.left());
            }
            rest = next == null ? current : next;
            unused = rest == null ? 0 : Math.min(next == null ? left : next.count, rest.granted);
            current = null;
            next = null;
            if (again || rest == null || unused == 0 || !ledger.isLast(rest) || ledger.isOutdated(rest)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        } finally {
            lock.unlock();
            whenClosed.run();
        }
        giveBack(rest.token, unused, deadline);
    }

    private void giveBack(long of, long unused, Deadline deadline) {
        Json body = new Json().put("sequence", sequence).putUnsigned("token", of).put("unused", unused).put("returnKey", returnKey);
        try {
            caller.call(Request.of(Method.RETURN_BLOCK, "/v1/blocks:return", body), deadline);
        } catch (SnowraftException e) {
            // the numbers stay unused, as after a crash
        }
    }
}
