package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Issues IDs of one layout by requesting them from members. Concurrent requests share a call. The methods are safe for concurrent use, and
 * take at most the client's timeout. They throw a {@link SnowraftException}.
 */
public final class Ids {
    private static final int MAX_UUIDS = 100_000;
    private static final Duration PER_ID = Duration.ofNanos(250_000); // in layouts with few IDs per tick

    private final Caller caller;
    private final String layout;
    private final Shared<IdRanges> plain;
    private final Shared<IdRanges> floored; // a member may have to wait for its clock, which must not delay other requests
    private final AtomicLong highest = new AtomicLong(); // greatest ID of all answers

    Ids(Caller caller, String layout) {
        this.caller = caller;
        this.layout = layout;
        plain = new Shared<>(caller, Answers.MAX_COUNT, null, this::fetch);
        floored = new Shared<>(caller, Answers.MAX_COUNT, null, this::fetch);
    }

    /** Returns one ID. IDs of different calls are in no order; see {@link #session}. */
    public long next() {
        return next(1)[0];
    }

    /** Returns IDs, 1 to 1,000,000, in no order. */
    public long[] next(int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "IDs");
        Shared.Part<IdRanges> part = plain.take(count, 0);
        return part.answer().part(part.from(), count);
    }

    /** Returns one ID that is greater than {@code after}, an ID that any process may have issued; 0 means no floor. */
    public long nextAfter(long after) {
        if (after < 0) {
            throw Answers.invalid("after " + after + ": expected an ID or 0");
        }
        if (after > highest.get()) {
            return fetch(1, after).part(0, 1)[0]; // if the floor is far too high, only this caller must be affected
        }
        Shared.Part<IdRanges> part = floored.take(1, after);
        return part.answer().part(part.from(), 1)[0];
    }

    /** Returns a session, whose IDs increase from call to call, whichever members serve them. It begins after an ID; 0 means no floor. */
    public Session session(long after) {
        return new Session(this, after);
    }

    /** Returns one ID as {@link #next()} does, without waiting for it. */
    public CompletableFuture<Long> nextAsync() {
        return nextAsync(1).thenApply(ids -> ids[0]);
    }

    /** Returns IDs as {@link #next(int)} does, without waiting for them. */
    public CompletableFuture<long[]> nextAsync(int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "IDs");
        return plain.takeAsync(count, 0).thenApply(part -> part.answer().part(part.from(), count));
    }

    /** Returns one ID as a UUID of version 7. */
    public UUID uuid() {
        return uuids(1).get(0);
    }

    /** Returns IDs, 1 to 100,000, as UUIDs of version 7. */
    public List<UUID> uuids(int count) {
        Answers.checkCount(count, MAX_UUIDS, "UUIDs");
        Json body = new Json().put("layout", layout).put("count", count);
        List<String> texts = Answers.read(caller.call(request(Method.GENERATE_UUIDS, "/v1/uuids:generate", body, count)), a -> a.strings("uuids"));
        if (texts.size() != count) {
            throw SnowraftException.malformed(texts.size() + " UUIDs instead of the " + count + " requested");
        }
        List<UUID> uuids = new ArrayList<>(count);
        for (String text : texts) {
            if (!text.matches("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")) {
                throw SnowraftException.malformed("a UUID of another form");
            }
            uuids.add(UUID.fromString(text));
        }
        return uuids;
    }

    /** Returns UUIDs as {@link #uuids} does, without waiting for them. */
    public CompletableFuture<List<UUID>> uuidsAsync(int count) {
        return plain.async(() -> uuids(count));
    }

    /** Requests count IDs greater than {@code after}. */
    IdRanges fetch(int count, long after) {
        Json body = new Json().put("layout", layout).put("count", count).put("packed", false);
        if (after > 0) {
            body.put("after", after);
        }
        IdRanges answer = IdRanges.of(caller.call(request(Method.GENERATE_IDS, "/v1/ids:generate", body, count)), count, after);
        highest.accumulateAndGet(answer.last(), Math::max);
        return answer;
    }

    private static Request request(Method method, String path, Json body, int count) {
        return new Request(method, path, body, PER_ID.multipliedBy(count), false);
    }

    /** A series of IDs that increase from call to call. It is safe for concurrent use. */
    public static final class Session {
        private final Ids ids;
        private final AtomicLong last;

        private Session(Ids ids, long after) {
            this.ids = ids;
            this.last = new AtomicLong(after);
        }

        /** Returns an ID that is greater than all IDs that earlier calls returned. */
        public long next() {
            long id = ids.nextAfter(last.get());
            last.accumulateAndGet(id, Math::max);
            return id;
        }

        /** Returns the greatest ID so far, with which another process can continue the session. */
        public long last() {
            return last.get();
        }
    }
}
