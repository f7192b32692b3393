package io.snowraft.internal.lane;

import io.snowraft.client.Clock;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Compares this process's clock with those of members, with the observed clock of the cluster, and with its own past. Uniqueness does not
 * depend on it: granted windows keep IDs unique. It decides when this process must refuse instead of issuing IDs out of order.
 *
 * <p>Every clock is held as its base, wall - monotonic time. A base stays the same while its clock runs correctly, so a jump shows
 * without an answer of any member. {@link #fine} compares the wall clock alone with bounds that {@link #check} derived from the
 * monotonic clock; the bounds become stricter as time passes, never looser.
 */
final class Watch {
    private static final long PEER_MAX_AGE = 30_000; // ms
    private static final long EXACT = 5; // ms; readings within this time count as readings of one moment
    private static final int MOST_READINGS = 10;
    private static final long SUSPEND_NOISE = 100; // ms; the greatest difference between two readings that is not a suspension

    private record Peer(long base, long mono) {
    }

    private final Clock clock;
    private volatile long least = Long.MIN_VALUE; // bounds of a wall clock that needs no further check
    private volatile long most;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Peer> peers = new HashMap<>();
    private Limits limits = Limits.DEFAULT;
    private long reference; // the base that the own clock should have
    private long observed; // Unix ms; 0: not known yet
    private long observedBase; // observed - mono
    private long own; // own base at the last update
    private OptionalLong asleep; // time of all suspensions until the last update
    private boolean agreed; // the own clock agreed with a peer's once
    private boolean disputed; // the only other clock contradicts the own one
    private boolean settled; // a member has answered
    private SnowraftException stopped; // null: not stopped

    Watch(Clock clock) {
        this.clock = clock;
        own = now().base();
        reference = own;
        asleep = clock.suspendedMillis();
        bound(now());
    }

    long wall() {
        return clock.wallMillis();
    }

    /** Reads both clocks at one moment: it reads them again if the thread had to wait between the readings. */
    Reading now() {
        Reading reading = null;
        long best = Long.MAX_VALUE;
        for (int i = 0; i < MOST_READINGS && best > EXACT; i++) {
            long before = clock.monotonicMillis();
            long wall = clock.wallMillis();
            long mono = clock.monotonicMillis();
            if (mono - before < best) {
                best = mono - before;
                reading = new Reading(wall, mono);
            }
        }
        return reading;
    }

    /** Returns a reading with the monotonic time since then added: a thread that waited for a processor is late, and its clock is not wrong. */
    Reading advance(Reading r) {
        long passed = clock.monotonicMillis() - r.mono();
        return new Reading(r.wall() + passed, r.mono() + passed);
    }

    /** Reports whether IDs may be issued at a wall clock. If not, {@link #check} decides. */
    boolean fine(long wall) {
        return wall >= least && wall <= most;
    }

    /** Returns null if IDs may be issued now, otherwise the reason. */
    SnowraftException check(Reading r) {
        lock.lock();
        try {
            if (stopped != null) {
                return stopped;
            }
            long ahead = r.base() - reference;
            if (ahead > limits.maxOffset()) {
                return error(Reason.CLOCK_SKEW, "this clock is " + ahead + " ms ahead of the majority's, limit " + limits.maxOffset()
                        + " ms; correct the clock, or those of the members if this one is correct", 500);
            }
            if (observed != 0 && observed - r.wall() > limits.waitThreshold() && !limits.swap()) {
                long behind = observed - advance(r).wall();
                if (behind > limits.waitThreshold()) {
                    return behind(behind, trusted());
                }
            }
            bound(r);
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the error of a clock that is behind by that many milliseconds. */
    SnowraftException behind(long millis) {
        return behind(millis, false);
    }

    private SnowraftException behind(long millis, boolean inStep) {
        long limit = limits().waitThreshold();
        String text = inStep
                ? "the observed clock is " + millis + " ms ahead of this clock and of the majority's, limit " + limit
                        + " ms; wait until they have caught up, or, if they are correct, set it back with \"snowraft clock reset\""
                : "this clock is " + millis + " ms behind, limit " + limit + " ms; correct the clock, or wait until it has caught up";
        return error(Reason.CLOCK_BEHIND, text, Math.max(1, millis - limit));
    }

    static SnowraftException error(Reason reason, String message, long retryMillis) {
        return SnowraftException.unsent(reason, message, Duration.ofMillis(retryMillis));
    }

    /** Sets the bounds of {@link #fine}. Requires the lock. */
    private void bound(Reading r) {
        if (stopped != null) {
            least = Long.MAX_VALUE;
            most = Long.MIN_VALUE;
            return;
        }
        least = observed == 0 || limits.swap() ? Long.MIN_VALUE : observed - limits.waitThreshold();
        most = reference + r.mono() + limits.maxOffset();
    }

    Limits limits() {
        lock.lock();
        try {
            return limits;
        } finally {
            lock.unlock();
        }
    }

    void setLimits(Limits to) {
        lock.lock();
        try {
            limits = to;
            bound(now());
        } finally {
            lock.unlock();
        }
    }

    /** Returns the observed clock in Unix ms; 0 until it is known. */
    long observed() {
        lock.lock();
        try {
            return observed;
        } finally {
            lock.unlock();
        }
    }

    /** Sets the observed clock that a member has just reported. It may be lower than before, because an operator can lower it. */
    void observe(long millis) {
        if (millis <= 0) {
            return;
        }
        lock.lock();
        try {
            wake();
            Reading r = now();
            observed = millis;
            observedBase = millis - r.mono();
            bound(r);
        } finally {
            lock.unlock();
        }
    }

    /** Notes the clock of a member, which it read half of the round trip ago. */
    void observePeer(String id, long wall, long roundTrip) {
        lock.lock();
        try {
            wake();
            Reading r = now();
            peers.put(id, new Peer(wall + roundTrip / 2 - r.mono(), r.mono()));
            update();
        } finally {
            lock.unlock();
        }
    }

    /** Makes each check fail with a reason, permanently. */
    void stop(SnowraftException reason) {
        lock.lock();
        try {
            stopped = reason;
            bound(now());
        } finally {
            lock.unlock();
        }
    }

    /** Reports whether the own clock agrees with the majority's. */
    boolean trusted() {
        lock.lock();
        try {
            return settled && !disputed && Math.abs(now().base() - reference) <= limits.maxOffset();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Recomputes the base that the own clock should have, and advances the observed clock by the monotonic time. The caller repeats it
     * every second. Without a member's clock it follows slow corrections and no jump; with those of two members, the base is the median of
     * all including the own.
     */
    void update() {
        lock.lock();
        try {
            wake();
            Reading r = now();
            if (observed != 0) {
                observed = observedBase + r.mono();
            }
            peers.values().removeIf(p -> r.mono() - p.mono > PEER_MAX_AGE);
            List<Long> bases = new ArrayList<>(List.of(r.base()));
            peers.values().forEach(p -> bases.add(p.base));
            Collections.sort(bases);
            long moved = r.base() - own; // only slow corrections, unless the clock jumped
            own = r.base();
            disputed = false;
            int n = bases.size();
            if (n == 1) {
                reference += Math.abs(moved) <= limits.maxOffset() / 2 ? moved : 0;
            } else if (n == 2) {
                disputed = settle(bases.get(0) + bases.get(1) - own, r.mono());
            } else {
                long low = bases.get((n - 1) / 2);
                long high = bases.get(n / 2);
                reference = Math.abs(low - reference) <= Math.abs(high - reference) ? low : high;
            }
            if (n > 1) {
                settled = true;
                agreed |= !disputed && Math.abs(own - reference) <= limits.maxOffset();
            }
            bound(r);
        } finally {
            lock.unlock();
        }
    }

    /** Notes a suspension of the machine: the monotonic clock stood still, and every other clock continued. Requires the lock. */
    private void wake() {
        OptionalLong now = clock.suspendedMillis();
        if (now.isEmpty()) {
            return;
        }
        long slept = asleep.isEmpty() ? 0 : now.getAsLong() - asleep.getAsLong();
        if (asleep.isPresent() && slept <= SUSPEND_NOISE) {
            return;
        }
        asleep = now;
        own += slept;
        reference += slept;
        observedBase += slept;
        peers.replaceAll((id, peer) -> new Peer(peer.base + slept, peer.mono));
    }

    /**
     * Decides between the own base and that of the only member that answered; it returns true if nothing shows which one is wrong. A
     * clock that is behind the observed clock is wrong. Otherwise a jump of the own clock shows in its past. Requires the lock.
     */
    private boolean settle(long other, long mono) {
        if (Math.abs(own - other) <= limits.maxOffset()) {
            reference = own;
            return false;
        }
        long oldest = observed - limits.waitThreshold(); // no correct clock reads less
        boolean ownBehind = own + mono < oldest;
        boolean otherBehind = other + mono < oldest;
        if (ownBehind && !otherBehind) {
            reference = other;
            return false;
        } else if (!ownBehind && !otherBehind && !agreed && own > other) {
            reference = other;
            return true;
        } else if (otherBehind && !ownBehind && Math.abs(own - reference) <= limits.maxOffset()) {
            reference = own;
            return false;
        }
        return true;
    }
}
