package io.snowraft.internal.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.layout.Layout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The arithmetic of a window. */
class LeaseTest {
    private static final Layout LAYOUT = new Layout("plain", io.snowraft.layout.FieldBits.parse("time:41,worker:3,sequence:3"), 1, 0, 0, 0, 1, false);
    private static final long FROM = 1_000;
    private static final long UNTIL = 1_004;

    private static Lease lease() {
        return new Lease(LAYOUT, new Grant(5, 1, FROM, UNTIL, 0, 0), 0, 5);
    }

    @Test
    void batchEndsWithTheWindow() {
        Lease lease = lease();
        long[] ids = new long[100];
        assertEquals(4 * 8, lease.take(FROM, 0, ids, 0), "four ticks of eight IDs");
        assertEquals(UNTIL - 1, LAYOUT.decode(ids[31]).tick());
        assertEquals(0, ids[32]);
        assertEquals(Lease.ENDED, lease.take(FROM, 0, ids, 32));
        assertEquals(Lease.ENDED, lease.take(LAYOUT.millisAt(FROM)));
        lease.extend(UNTIL + 1);
        assertEquals(8, lease.take(FROM, 0, ids, 32));
    }

    @Test
    void batchEndsAheadOfTheClock() {
        Lease lease = lease();
        lease.extend(UNTIL + 100);
        assertEquals(6 * 8, lease.take(FROM, 0, new long[100], 0), "the tick of the clock and five ahead");
        assertEquals(Lease.EARLY, lease.take(LAYOUT.millisAt(FROM)));
        assertEquals(8, lease.take(FROM + 1, 0, new long[100], 0));
    }

    /** The fast path of one ID issues only the cell that the rules of every take allow, at any tick. */
    @Test
    void oneIdFollowsTheRulesAtEveryTick() {
        List<Long> ticks = new ArrayList<>(List.of(Long.MIN_VALUE, -1L, 0L, 1L << 59, 1L << 60, 1L << 61, 1L << 62, Long.MAX_VALUE,
                LAYOUT.ticks() - 1, LAYOUT.ticks()));
        for (long tick = -10; tick <= 10; tick++) {
            ticks.add(FROM + tick);
            ticks.add(tick);
            ticks.add(Long.MAX_VALUE / 8 + tick);
        }
        for (long from : new long[] {0, FROM}) {
            Lease lease = new Lease(LAYOUT, new Grant(5, 1, from, from + 4, 0, 0), 0, 5);
            for (int i = 0; i < 40; i++) {
                for (long tick : ticks) {
                    long before = lease.position();
                    long rule = lease.peek(tick, 0);
                    assertEquals(rule, lease.take(LAYOUT.epochMillis() + tick), "tick " + tick + " at cell " + before);
                    if (rule >= 0) {
                        break;
                    }
                }
            }
            lease.close();
            for (long tick : ticks) {
                assertTrue(lease.take(LAYOUT.epochMillis() + tick) < 0, "tick " + tick + " after the close");
            }
        }
    }

    @Test
    void oneIdFollowsTheRulesWithTicksOfAnotherLength() {
        Layout slow = Layout.preset("sonyflake");
        Lease lease = new Lease(slow, new Grant(5, 1, FROM, FROM + 3, 0, 0), 0, 5);
        for (long wall = slow.millisAt(FROM) - 20; wall < slow.millisAt(FROM + 4); wall++) {
            for (int i = 0; i < 30; i++) {
                long rule = lease.peek(slow.tickAt(wall), 0);
                assertEquals(rule, lease.take(wall), "wall clock " + wall);
            }
        }
        assertEquals(FROM + 2, lease.lastTick());
    }

    @Test
    void batchContinuesAtItsIndexAboveTheFloor() {
        Lease lease = lease();
        long floor = LAYOUT.encode(FROM + 1, 0, 7, 3);
        long[] ids = {-1, 0, 0};
        assertEquals(2, lease.take(FROM, floor, ids, 1));
        assertEquals(-1, ids[0]);
        assertEquals(LAYOUT.encode(FROM + 2, 0, 5, 0), ids[1]);
        assertEquals(LAYOUT.encode(FROM + 2, 0, 5, 1), ids[2]);
        assertEquals(Lease.UNREACHABLE, lease.take(LAYOUT.ticks() - 1, LAYOUT.encode(LAYOUT.ticks() - 1, 0, 7, 7), ids, 1));
    }

    @Test
    void clockAtTheEndIssuesNothing() {
        Lease lease = lease();
        assertTrue(lease.take(UNTIL - 1) > 0);
        assertEquals(Lease.ENDED, lease.take(UNTIL));
        assertEquals(Lease.ENDED, lease.take(UNTIL, 0, new long[1], 0));
        assertEquals(Lease.EXHAUSTED, lease.take(LAYOUT.ticks()));
        assertEquals(Lease.EXHAUSTED, lease.take(Long.MAX_VALUE));
        assertEquals(Lease.EARLY, lease.take(-1));
        assertEquals(Lease.EARLY, lease.take(Long.MIN_VALUE));
    }

    @Test
    void closedLeaseIssuesNothing() {
        Lease lease = lease();
        lease.take(FROM);
        lease.close();
        assertEquals(Lease.CLOSED, lease.take(LAYOUT.millisAt(FROM)));
        assertEquals(Lease.CLOSED, lease.take(FROM, 0, new long[1], 0));
        assertEquals(FROM + 1, lease.next());
        lease.close();
        assertEquals(FROM + 1, lease.next(), "closing twice changes nothing");
        Lease unused = lease();
        unused.close();
        assertFalse(unused.issued());
        assertEquals(FROM, unused.next());
    }

    @Test
    void threadsShareAWindowThatGrowsAndCloses() throws InterruptedException {
        Lease lease = lease();
        AtomicLong tick = new AtomicLong(FROM);
        List<List<Long>> all = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            List<Long> mine = new ArrayList<>();
            all.add(mine);
            int size = t;
            threads.add(new Thread(() -> {
                for (long v = 0; v != Lease.CLOSED;) {
                    long[] ids = new long[size * 5 + 1];
                    v = size == 0 ? lease.take(tick.get()) : lease.take(tick.get(), 0, ids, 0);
                    if (size == 0 && v >= 0) {
                        mine.add(lease.id(v));
                    } else {
                        Arrays.stream(ids).limit(Math.max(0, v)).forEach(mine::add);
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (long now = FROM; now < FROM + 3_000 || !lease.issued(); now++) {
            lease.extend(now + 2);
            tick.set(now);
            Thread.onSpinWait();
        }
        lease.close();
        for (Thread thread : threads) {
            thread.join();
        }
        Set<Long> distinct = new HashSet<>();
        int sum = 0;
        for (List<Long> mine : all) {
            sum += mine.size();
            distinct.addAll(mine);
            for (int i = 1; i < mine.size(); i++) {
                assertTrue(mine.get(i) > mine.get(i - 1));
            }
            mine.forEach(id -> assertTrue(LAYOUT.decode(id).tick() < lease.until() && LAYOUT.decode(id).worker() == 5));
        }
        assertEquals(sum, distinct.size());
        assertTrue(sum > 0);
    }
}
