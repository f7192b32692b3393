package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.json.Json;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Issues the numbers of one sequence, strict or relaxed, by requesting them from members. Concurrent requests share a call. The methods are
 * safe for concurrent use, take at most the client's timeout, and throw a {@link SnowraftException}.
 *
 * <p>With a strict sequence, a call that begins after another one returned gets greater numbers (smaller ones, if the increment is
 * negative), in all processes. Numbers are unique. There are gaps where calls failed, or were repeated at another member.
 */
public final class Sequence {
    private static final int MAX_TEXTS = 1000;
    private static final int MAX_REQUEST_ID = 64;

    private final Caller caller;
    private final String name;
    private final Shared<Numbers> numbers;
    private final Reservations reservations;
    private final Shared<Numbers> texts; // small calls, to which members add the texts

    Sequence(Caller caller, String name) {
        this.caller = caller;
        this.name = name;
        reservations = new Reservations(caller, name);
        numbers = new Shared<>(caller, Answers.MAX_COUNT, Reason.SEQUENCE_EXHAUSTED, (count, after) -> fetch(count, body(count)));
        texts = new Shared<>(caller, MAX_TEXTS, Reason.SEQUENCE_EXHAUSTED, (count, after) -> fetch(count, body(count)));
    }

    /** Returns the next number. */
    public long next() {
        return take(1).first();
    }

    /** Returns the next numbers, 1 to 1,000,000, in one run: no other caller gets a number between them. */
    public Numbers take(int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        Shared.Part<Numbers> part = numbers.take(count, 0);
        return part.answer().part(part.from(), count);
    }

    /** Returns the next number as text: in the format of the sequence, or in decimal without a format. */
    public String nextText() {
        return texts(1).get(0);
    }

    /** Returns the next numbers, 1 to 1,000, as texts. */
    public List<String> texts(int count) {
        Answers.checkCount(count, MAX_TEXTS, "texts");
        Shared.Part<Numbers> part = texts.take(count, 0);
        return textsOf(part.answer().part(part.from(), count));
    }

    private static List<String> textsOf(Numbers numbers) {
        return numbers.texts().isEmpty() ? numbers.stream().mapToObj(Long::toString).toList() : numbers.texts();
    }

    /**
     * Returns the next numbers for a request that may be repeated. A repetition within 10 minutes with the same ID and count, from this
     * process or another, returns the same numbers.
     *
     * @param requestId 1 to 64 bytes in UTF-8, drawn for this request alone
     */
    public Numbers takeOnce(String requestId, int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        return fetch(count, repeatable(body(count), requestId));
    }

    /** Returns the next numbers, 1 to 1,000, as texts, for a request that may be repeated as with {@link #takeOnce}. */
    public List<String> textsOnce(String requestId, int count) {
        Answers.checkCount(count, MAX_TEXTS, "texts");
        return textsOf(takeOnce(requestId, count));
    }

    /**
     * Returns the next numbers of one period, 1 to 1,000,000. Numbers of a period that ended follow all that were granted in it. The call
     * costs a write to the cluster's log. It fails with {@link Reason#PERIOD_CLOSED} and {@link Reason#PERIOD_UNKNOWN}.
     */
    public Numbers takeOf(NumberPeriod period, int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        Json body = body(count).put("period", period.name());
        period.from().ifPresent(from -> body.put("from", from));
        return fetch(count, period.requestId().isEmpty() ? body : repeatable(body, period.requestId()));
    }

    /** Returns the next numbers of one period as {@link #takeOf} does, without waiting for them. */
    public CompletableFuture<Numbers> takeOfAsync(NumberPeriod period, int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        return numbers.async(() -> takeOf(period, count));
    }

    /** Returns the numbers of {@link #takeOf} as texts, 1 to 1,000. Their dates are in the period. */
    public List<String> textsOf(NumberPeriod period, int count) {
        Answers.checkCount(count, MAX_TEXTS, "texts");
        return textsOf(takeOf(period, count));
    }

    /** Returns the next number as {@link #next()} does, without waiting for it. */
    public CompletableFuture<Long> nextAsync() {
        return takeAsync(1).thenApply(Numbers::first);
    }

    /** Returns the next numbers as {@link #take} does, without waiting for them. */
    public CompletableFuture<Numbers> takeAsync(int count) {
        Answers.checkCount(count, Answers.MAX_COUNT, "numbers");
        return numbers.takeAsync(count, 0).thenApply(part -> part.answer().part(part.from(), count));
    }

    /** Returns the last number that was issued; empty before the first one. For a strict sequence, the result is linearizable. */
    public OptionalLong last() {
        JsonObject answer = caller.call(Request.of(Method.GET_LAST, "/v1/sequences:last?sequence=" + Paths.query(name)));
        return Answers.read(answer, a -> a.has("last") ? OptionalLong.of(a.int64("last")) : OptionalLong.empty());
    }

    /**
     * Returns the number of a text that the format of the sequence wrote, or an earlier format of it. The sequence may be a deleted one. If no
     * format of the sequence writes the text, it fails with {@link Reason#INVALID_ARGUMENT}; the message says which part is wrong, such as the
     * check digit. In a secured cluster, it needs the right seq:decode.
     */
    public DecodedText decode(String text) {
        Json body = new Json().put("sequence", name).put("text", text);
        return Answers.read(caller.call(Request.of(Method.DECODE_TEXT, "/v1/sequences:decode", body)), DecodedText::of);
    }

    /**
     * Sets the next number. Without {@code force}, a number after which numbers could repeat fails with {@link Reason#WOULD_REPEAT}.
     */
    public SequenceInfo setNext(long next, boolean force) {
        Json body = new Json().put("sequence", name).put("next", next).put("force", force);
        return SequenceInfo.changed(caller.call(new Request(Method.SET_NEXT, "/v1/sequences:setNext", body, Duration.ZERO, force)));
    }

    /**
     * Reserves a number of a gapless sequence for each key, 1 to 100 different keys of 1 to 128 bytes. A key with an open reservation gets its
     * number again, as the next attempt. A key with a confirmed number gets that number, as confirmed. A key whose number is void gets another
     * one. No time limit ends a reservation: say what became of the number by {@link #confirm} or {@link #makeVoid}. The call may be repeated.
     */
    public List<Reservation> reserve(String... keys) {
        return reservations.reserve("", keys);
    }

    /**
     * Reserves as {@link #reserve} does, with new numbers of one period, such as 2026-10: the present one, or an earlier one whose late time
     * has not passed; else it fails with {@link Reason#PERIOD_CLOSED}. A key that has a number keeps it, also one of another period.
     */
    public List<Reservation> reserveOf(String period, String... keys) {
        return reservations.reserve(period, keys);
    }

    /**
     * Records that the claimed numbers are in use, all or none. It may be repeated. It fails with {@link Reason#STALE_ATTEMPT} if a key was
     * reserved again since, and with {@link Reason#ALREADY_SETTLED} if a number is void.
     */
    public void confirm(Claim... claims) {
        reservations.confirm(claims);
    }

    /** Records that the claimed numbers are void, all or none, with a reason of 1 to 256 bytes. It may be repeated. */
    public void makeVoid(String reason, Claim... claims) {
        reservations.makeVoid(reason, false, claims);
    }

    /**
     * Does what {@link #makeVoid} does, for numbers that no transaction can commit anymore: the database of the application has a UNIQUE
     * constraint and a committed row for each of them. A sequence with reuse may reserve them again.
     */
    public void voidNeverCommitted(String reason, Claim... claims) {
        reservations.makeVoid(reason, true, claims);
    }

    /** Returns the open reservations whose first attempt was at least that long ago, the oldest first; at most 1,000. */
    public List<Reservation> openReservations(Duration minAge) {
        return reservations.open(minAge);
    }

    /**
     * Asks {@code resolve} what became of each number that has been open for at least {@code minAge}, and records the answer. Call it from
     * time to time, in any number of processes: it settles the numbers of processes that crashed between a reservation and its confirmation.
     * Only the database of the application knows what became of a number, and a transaction may still commit it: docs/document-numbers.md has
     * the recipe. It stops at the first error, except those of reservations that other callers attempted again or settled meanwhile.
     */
    public Reconciled reconcile(Duration minAge, Function<Reservation, Resolution> resolve) {
        return reservations.reconcile(minAge, resolve);
    }

    private Json body(int count) {
        return new Json().put("sequence", name).put("count", count);
    }

    private static Json repeatable(Json body, String requestId) {
        int bytes = requestId.getBytes(StandardCharsets.UTF_8).length;
        if (bytes < 1 || bytes > MAX_REQUEST_ID) {
            throw Answers.invalid("request ID of " + bytes + " bytes: expected 1 to " + MAX_REQUEST_ID + " bytes");
        }
        return body.put("requestId", requestId);
    }

    private Numbers fetch(int count, Json body) {
        JsonObject answer = caller.call(Request.of(Method.NEXT_NUMBERS, "/v1/sequences:next", body));
        return Answers.read(answer, a -> numbers(a, count));
    }

    private static Numbers numbers(JsonObject a, int count) throws JsonException {
        Numbers n = new Numbers(a.int64("first"), a.count("count"), a.int64("increment"), a.string("period"), a.strings("texts"));
        boolean written = n.texts().isEmpty() || n.texts().size() == count;
        if (n.count() != count || !written || !Numbers.fits(n.first(), n.increment(), count)) {
            throw SnowraftException.malformed(n.count() + " numbers from " + n.first() + " by " + n.increment() + " and " + n.texts().size()
                    + " texts instead of the " + count + " numbers requested");
        }
        return n;
    }
}
