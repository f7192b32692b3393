package io.snowraft.internal.lane;

import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.time.Duration;

/**
 * Checks the clock of a generator every second: it asks a member for its clock every 20 s, and every second while the own clock seems
 * wrong.
 */
final class ClockCheck {
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final long QUERY_EVERY = 20_000; // ms
    private static final Duration QUERY_LIMIT = Duration.ofSeconds(2);

    private final Caller caller;
    private final Watch watch;
    private long askedAt;
    private boolean asked;
    private volatile boolean closed;

    ClockCheck(Caller caller, Watch watch) {
        this.caller = caller;
        this.watch = watch;
    }

    void start() {
        caller.background().execute(this::run);
    }

    void close() {
        closed = true;
    }

    private void run() {
        if (closed) {
            return;
        }
        Reading now = watch.now();
        if (!asked || watch.check(now) != null || now.mono() - askedAt >= QUERY_EVERY) {
            asked = true;
            askedAt = now.mono();
            query();
        }
        watch.update();
        caller.background().schedule(this::run, EVERY);
    }

    /** Asks one member. Without an answer, nothing changes. */
    private void query() {
        Reading began = watch.now();
        JsonObject status;
        try {
            status = caller.call(Request.of(Method.GET_STATUS, "/v1/status"), Deadline.after(QUERY_LIMIT));
            apply(status, watch.now().mono() - began.mono());
        } catch (SnowraftException | JsonException e) {
            return;
        }
    }

    /** Applies the status of a member, which was asked that many milliseconds ago. */
    void apply(JsonObject status, long took) throws JsonException {
        JsonObject config = status.object("config");
        long threshold = config.int64("waitThresholdMs");
        long offset = config.int64("maxClockOffsetMs");
        if (threshold > 0 && offset > 0) {
            watch.setLimits(new Limits(threshold, offset, config.string("rollback").equals("swap")));
        }
        if (!status.string("leaderId").isEmpty()) { // without a leader, the replica may be old
            watch.observe(status.int64("observedClockAtMs"));
        }
        if (took <= watch.limits().maxOffset()) { // after a longer time, the offset is too inexact
            watch.observePeer(status.string("memberId"), status.int64("clockAtMs") - status.int64("clockOffsetMs"), took);
        }
        if (status.has("sealed")) {
            caller.seal(Watch.error(Reason.SET_BACK, "the cluster was set back in time and is sealed; restore it with \"snowraft restore\"", 0));
        }
    }
}
