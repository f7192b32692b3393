package io.snowraft.internal.call;

import io.snowraft.client.SnowraftException;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.Comparator;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;

/**
 * Learns the addresses of the members and the leader in the background.
 *
 * <p>The addresses that the application gave stay in use next to those that members advertise, because advertised addresses may not be
 * reachable from here. If a member has advertised an address and no member does now, its member was removed and the address is dropped.
 */
final class Members {
    /** The time between two requests for the members. While they stay the same and answer, it doubles up to {@code LONGEST}. */
    private static final Duration EVERY = Duration.ofSeconds(10);
    private static final Duration LONGEST = Duration.ofSeconds(160);
    private static final Duration PAUSE = Duration.ofSeconds(1);
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final Caller caller;
    private final Standing standing;
    private final Pool pool;
    private final BiConsumer<Runnable, Duration> schedule; // runs a task after a time
    private final List<Address> seeds;
    private final AtomicBoolean started = new AtomicBoolean();
    private final AtomicBoolean due = new AtomicBoolean(); // a request after PAUSE is scheduled or in progress

    // Owned by the request in progress.
    private final Set<Address> ever = new HashSet<>(); // seeds that were advertised at some time
    private Set<Address> learned = Set.of();
    private Duration every = EVERY;
    private volatile long turn; // number of the last request

    Members(Caller caller, Standing standing, Pool pool, BiConsumer<Runnable, Duration> schedule, List<Address> seeds) {
        this.caller = caller;
        this.standing = standing;
        this.pool = pool;
        this.schedule = schedule;
        this.seeds = seeds;
    }

    /** Starts following the membership, unless it was started before. */
    void start() {
        if (!started.get() && started.compareAndSet(false, true)) {
            due.set(true);
            schedule.accept(() -> refresh(false), Duration.ZERO);
        }
    }

    /** Notes a possible change of the membership: a member did not answer. */
    void changed() {
        if (due.compareAndSet(false, true)) {
            schedule.accept(() -> refresh(true), PAUSE);
        }
    }

    private void refresh(boolean broken) {
        boolean changed = true;
        try {
            changed = learn(caller.call(Request.of(Method.LIST_MEMBERS, "/v1/members"), Deadline.after(LIMIT)));
        } catch (SnowraftException | JsonException e) {
            standing.learn(seeds, learned, null);
        }
        every = changed || broken ? EVERY : every.multipliedBy(2);
        every = every.compareTo(LONGEST) > 0 ? LONGEST : every;
        long mine = turn + 1;
        turn = mine;
        due.set(false);
        long spread = ThreadLocalRandom.current().nextLong(every.toNanos() / 4); // clients that started together drift apart
        schedule.accept(() -> poll(mine), every.minusNanos(spread));
    }

    /** Requests the members again, unless that happened since the given turn. */
    private void poll(long last) {
        if (last == turn && due.compareAndSet(false, true)) {
            refresh(false);
        }
    }

    /** Learns from a list of members, and reports whether it has changed. */
    private boolean learn(JsonObject answer) throws JsonException {
        Set<Address> advertised = new TreeSet<>(Comparator.comparing(Address::toString));
        Address leader = null;
        for (JsonObject member : answer.objects("members")) {
            String text = member.string("httpAddress"); // empty while the member is not known, absent in answers of older members
            try {
                Address address = text.isEmpty() ? null : Address.parse(text);
                if (address != null) {
                    advertised.add(address);
                    leader = member.bool("leader") ? address : leader;
                }
            } catch (IllegalArgumentException e) {
                // not an address
            }
        }
        seeds.stream().filter(advertised::contains).forEach(ever::add);
        List<Address> inUse = advertised.isEmpty() ? seeds : seeds.stream().filter(s -> !ever.contains(s) || advertised.contains(s)).toList();
        standing.learn(inUse, advertised, leader);
        pool.keep(standing.known());
        boolean changed = !learned.equals(advertised);
        learned = advertised;
        return changed;
    }
}
