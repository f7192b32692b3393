package io.snowraft.internal.call;

import io.snowraft.client.Reason;
import io.snowraft.internal.http.Address;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/** The client's knowledge of members, and the choice among them. */
final class Standing {
    /** The time for which a member that did not answer in time is called only if no other is available. */
    static final Duration SUSPICION = Duration.ofSeconds(5);
    /** The same time for a member that could not be reached, or that cannot serve now. */
    static final Duration REST = Duration.ofSeconds(1);

    // Objections to a member, in ascending order. The sum of a member's objections decides.
    private static final int FOLLOWS = 1; // the leader would be faster, or another member may know it
    private static final int UNLEARNED = 2; // no member advertises this address: it may be an alias of an advertised one
    private static final int SUSPECTED = 4;
    private static final int AVOIDED = 8;

    /** A choice; {@code others} reports whether members are left that the caller did not avoid. */
    record Choice(Address member, boolean others) {
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Address, Long> suspects = new HashMap<>(); // end of the suspicion, nanoTime
    private final Map<Address, Integer> calls = new HashMap<>(); // calls in progress
    private List<Address> addresses;
    private Set<Address> learned = Set.of(); // empty: not known yet
    private Address leader; // null: unknown
    private Address leaderless; // the last member that knew no leader, while the leader is unknown; null: none

    Standing(List<Address> seeds) {
        addresses = seeds;
    }

    /** Sets the addresses: those given by the application that are in use, those that members advertise, and the leader's. */
    void learn(Collection<Address> seeds, Set<Address> advertised, Address leads) {
        lock.lock();
        try {
            Set<Address> all = new LinkedHashSet<>(advertised);
            all.addAll(seeds);
            addresses = List.copyOf(all);
            learned = Set.copyOf(advertised);
            leader = leads;
            leaderless = null;
            suspects.keySet().retainAll(all);
        } finally {
            lock.unlock();
        }
    }

    List<Address> known() {
        lock.lock();
        try {
            return addresses;
        } finally {
            lock.unlock();
        }
    }

    /** Chooses a member with the fewest objections, and among these one with the fewest calls in progress, and counts the call. */
    Choice take(Set<Address> avoid, boolean preferLeader) {
        lock.lock();
        try {
            Address best = null;
            int least = 0;
            int fewest = 0;
            int equal = 0;
            int fresh = 0;
            for (Address a : addresses) {
                int objection = objection(a, avoid, preferLeader);
                int running = calls.getOrDefault(a, 0);
                fresh += objection < AVOIDED ? 1 : 0;
                if (best == null || objection < least || objection == least && running < fewest) {
                    least = objection;
                    fewest = running;
                    equal = 0;
                }
                if (objection == least && running == fewest && ThreadLocalRandom.current().nextInt(++equal) == 0) {
                    best = a;
                }
            }
            calls.merge(best, 1, Integer::sum);
            suspects.computeIfPresent(best, (a, until) -> System.nanoTime() + SUSPICION.toNanos()); // only one call has to wait
            return new Choice(best, least < AVOIDED && fresh > 1);
        } finally {
            lock.unlock();
        }
    }

    private int objection(Address a, Set<Address> avoid, boolean preferLeader) {
        Long until = suspects.get(a);
        return (preferLeader && (leader == null ? a.equals(leaderless) : !a.equals(leader)) ? FOLLOWS : 0)
                + (!learned.isEmpty() && !learned.contains(a) ? UNLEARNED : 0)
                + (until != null && until - System.nanoTime() > 0 ? SUSPECTED : 0)
                + (avoid.contains(a) ? AVOIDED : 0);
    }

    /** Notes that a call has ended. */
    void done(Address member) {
        lock.lock();
        try {
            calls.computeIfPresent(member, (a, n) -> n == 1 ? null : n - 1);
        } finally {
            lock.unlock();
        }
    }

    /** Learns from a try at a member. {@code failure} is null if the member answered it. */
    void tried(Address member, Failure failure, Duration took, Duration suspicious) {
        lock.lock();
        try {
            if (failure == null) {
                suspects.remove(member);
            } else if (failure.unsent() || failure.fromMember() && failure.reason().undone()) {
                suspect(member, REST);
            } else if (failure.fromMember()) {
                suspects.remove(member);
            } else if (took.compareTo(suspicious) >= 0) {
                suspect(member, SUSPICION);
            }
            if (failure != null && failure.reason() == Reason.NO_LEADER && (leader == null || leader.equals(member))) {
                leader = null; // it may have led before it lost the majority, and other members may know its successor
                leaderless = member;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Prefers other members for a time. Requires the lock. */
    private void suspect(Address member, Duration time) {
        suspects.put(member, System.nanoTime() + time.toNanos());
    }
}
