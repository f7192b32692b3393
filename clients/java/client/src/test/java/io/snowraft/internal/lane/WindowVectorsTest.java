package io.snowraft.internal.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.ClientListener;
import io.snowraft.client.Clock;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.call.Caller;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.Trust;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import io.snowraft.layout.Field;
import io.snowraft.layout.FieldBits;
import io.snowraft.layout.Layout;
import io.snowraft.test.Vectors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

class WindowVectorsTest {
    @TestFactory
    Stream<DynamicTest> windows() throws Exception {
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonObject script : Vectors.read("windows.json").objects("scripts")) {
            tests.add(DynamicTest.dynamicTest(script.string("name"), () -> new Run(script).run()));
        }
        assertFalse(tests.isEmpty());
        return tests.stream();
    }

    /** The run of one script: a lane whose thread does not run, so that each step is taken here. */
    private static final class Run implements Granter, Clock {
        private final JsonObject script;
        private final Layout layout;
        private final Issuer issuer;
        private long wall;
        private long mono;
        private JsonObject answer;
        private String asked; // the last request, in the form of the vectors
        private long lastExtension;
        private boolean repeats;
        private boolean closed;

        private Run(JsonObject script) throws JsonException {
            this.script = script;
            set(script.object("start"));
            JsonObject l = script.object("layout");
            List<FieldBits> fields = new ArrayList<>();
            for (JsonObject f : l.objects("fields")) {
                fields.add(new FieldBits(Field.parse(f.string("kind")), f.count("bits")));
            }
            layout = new Layout(l.string("name"), fields, l.int64("unitMs"), 0, l.int64("epochAtMs"), l.uint64("datacenter"), l.int64("spread"), false);
            Caller unused = new Caller(List.of(Address.parse("127.0.0.1:1")), Trust.clearText(false), "", Duration.ofSeconds(1), new ClientListener() { });
            issuer = new Issuer(layout, "test", 1, this, unused, this, new NoEvents());
        }

        private void set(JsonObject clock) throws JsonException {
            wall = clock.int64("wallMs");
            mono = clock.int64("monotonicMs");
        }

        private void run() throws JsonException {
            int n = 0;
            for (JsonObject step : script.objects("steps")) {
                String where = "step " + n++;
                if (step.has("clock")) {
                    set(step.object("clock"));
                } else if (step.has("member")) {
                    issuer.clockCheck().apply(status(step.object("member")), step.object("member").int64("tookMs"));
                } else if (step.has("check")) {
                    issuer.watch().update();
                } else if (step.has("next")) {
                    next(step, where);
                } else if (step.has("renew")) {
                    renew(step, where);
                } else {
                    assertTrue(step.has("close"), where);
                    close(step, where);
                }
            }
        }

        /** Returns the status of a member; the vectors leave out that it knows a leader. */
        private static JsonObject status(JsonObject member) throws JsonException {
            String text = "{\"leaderId\":\"x\",\"memberId\":\"m\",\"observedClockAtMs\":\"" + member.int64("observedClockAtMs") + "\",\"clockAtMs\":\""
                    + member.int64("clockAtMs") + "\",\"clockOffsetMs\":\"" + member.int64("clockOffsetMs") + "\"}";
            return JsonObject.parse(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }

        private void next(JsonObject step, String where) throws JsonException {
            List<String> ids = new ArrayList<>();
            String refusal = null;
            long after = step.has("after") ? step.uint64("after") : 0;
            while (ids.size() < step.int64("next") && refusal == null) {
                long id = closed ? 0 : take(after);
                if (id == 0) {
                    refusal = refusal(step.object("refusal"), after);
                } else {
                    ids.add(Long.toString(id));
                }
            }
            assertEquals(step.strings("ids"), ids, where);
            assertEquals(step.has("refusal") ? step.object("refusal").string("reason") : null, refusal, where);
        }

        /** Returns an ID greater than {@code after}, or 0. */
        private long take(long after) {
            if (after != 0) {
                long[] id = new long[1];
                issuer.tryTake(id, 0, after);
                return id[0];
            }
            long id = issuer.tryNext();
            if (id == 0) { // the bounds of a reading without the monotonic clock may be too strict
                issuer.check(issuer.watch().now());
                id = issuer.tryNext();
            }
            return id;
        }

        /** Returns the reason why there is no ID, and checks its numbers. */
        private String refusal(JsonObject want, long after) throws JsonException {
            if (closed) {
                return "CLOSED";
            }
            Reading now = issuer.watch().now();
            SnowraftException e = issuer.check(now);
            if (e == null) {
                e = unreachable(now, after);
            }
            if (e == null) {
                Outlook o = issuer.lane(0).outlook(now, issuer.watch().limits(), after);
                if (o.waitMillis() > 0) {
                    assertEquals(want.int64("waitMs"), o.waitMillis());
                    return "WAIT";
                }
                e = o.error();
            }
            for (String number : new String[] {"behindMs", "aheadMs"}) {
                if (want.has(number)) {
                    assertTrue(e.getMessage().contains(" " + want.int64(number) + " ms "), e.getMessage());
                }
            }
            return e.reason().name();
        }

        /** Returns the error of a floor that no process can have issued; null if one can. */
        private SnowraftException unreachable(Reading now, long after) {
            try {
                issuer.checkReachable(now, issuer.watch().limits(), after);
                return null;
            } catch (SnowraftException e) {
                return e;
            }
        }

        private void renew(JsonObject step, String where) throws JsonException {
            answer = step.object("answer");
            asked = null;
            issuer.lane(0).hurry();
            issuer.lane(0).step();
            assertEquals(expected(step, where), asked, where);
            LaneState state = issuer.lane(0).state();
            if (step.has("window")) {
                JsonObject w = step.object("window");
                assertEquals(w.uint64("worker") + " " + w.uint64("token") + " " + w.int64("fromTick") + " " + w.int64("untilTick"),
                        state.worker() + " " + state.token() + " " + state.fromTick() + " " + state.untilTick(), where);
            } else {
                assertEquals(0, state.token(), where);
            }
        }

        private void close(JsonObject step, String where) throws JsonException {
            asked = null;
            closed = true;
            issuer.close(Duration.ofSeconds(1));
            issuer.lane(0).finish();
            assertEquals(expected(step, where), asked, where);
        }

        private String expected(JsonObject step, String where) throws JsonException {
            if (!step.has("request")) {
                return null;
            }
            JsonObject r = step.object("request");
            switch (r.string("kind")) {
                case "acquire":
                    return "acquire " + r.int64("clockAtMs") + " " + r.int64("windowMs");
                case "extend":
                    assertEquals(r.bool("repeats"), repeats, where);
                    return "extend " + r.uint64("worker") + " " + r.uint64("token") + " " + r.int64("untilTick") + " " + r.int64("clockAtMs");
                default:
                    return "release " + r.uint64("worker") + " " + r.uint64("token") + " " + r.int64("untilTick") + " " + r.int64("nextTick");
            }
        }

        @Override
        public long drawExtension() {
            return new java.security.SecureRandom().nextLong() | 1;
        }

        @Override
        public Grant acquire(String holder, long at, long window, Deadline deadline) {
            asked = "acquire " + at + " " + window;
            return answer();
        }

        @Override
        public Grant extend(Lease held, long until, long extension, long at, long window, Deadline deadline) {
            asked = "extend " + held.worker + " " + held.token + " " + until + " " + at;
            assertNotEquals(0, extension);
            repeats = extension == lastExtension;
            lastExtension = extension;
            return answer();
        }

        @Override
        public void release(Lease held, long next, Deadline deadline) {
            assertNull(asked);
            asked = "release " + held.worker + " " + held.token + " " + held.until() + " " + next;
        }

        private Grant answer() {
            try {
                assertNotNull(answer);
                if (answer.has("error")) {
                    Reason reason = Reason.of(answer.string("error"));
                    throw SnowraftException.of(reason, reason.name(), reason.name(), "", Duration.ZERO, false, false, null);
                } else if (answer.bool("lost")) {
                    throw SnowraftException.of(Reason.TIMEOUT, "TIMEOUT", "no answer in time", "", Duration.ZERO, false, true, null);
                }
                JsonObject g = answer.object("grant");
                return new Grant(g.uint64("worker"), g.uint64("token"), g.int64("fromTick"), g.int64("untilTick"), g.int64("observedClockAtMs"),
                        g.int64("maxWindowMs"));
            } catch (JsonException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public long wallMillis() {
            return wall;
        }

        @Override
        public long monotonicMillis() {
            return mono;
        }
    }
}
