package io.snowraft.internal.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.HttpResponse;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import io.snowraft.test.Vectors;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ErrorVectorsTest {
    private static final Address MEMBER = Address.parse("127.0.0.1:7701");

    private static Failure answer(int status, String body) {
        return Failure.of(new HttpResponse(status, "application/json", body.getBytes(StandardCharsets.UTF_8), true), MEMBER.toString());
    }

    private static void check(JsonObject outcomes, Failure failure, String about) throws JsonException {
        Map<Method.Repeat, Request> requests = new EnumMap<>(Map.of(Method.Repeat.HARMLESS, Request.of(Method.GENERATE_IDS, "/"),
                Method.Repeat.UNDONE, Request.of(Method.SET_NEXT, "/"), Method.Repeat.NEVER, Request.of(Method.EXTEND_WINDOW, "/")));
        for (Map.Entry<Method.Repeat, Request> kind : requests.entrySet()) {
            JsonObject want = outcomes.object(kind.getKey().name().toLowerCase(java.util.Locale.ROOT));
            Tries tries = new Tries(kind.getValue(), 1);
            tries.add(MEMBER, failure, false);
            SnowraftException e = tries.failed(null);
            assertEquals(want.bool("again") + " " + want.bool("retry") + " " + want.bool("unknown"),
                    tries.again(failure, true) + " " + e.retry() + " " + e.unknown(), about + ", " + kind.getKey());
            assertEquals(want.bool("retry") ? SnowraftException.Repeatable.class
                    : want.bool("unknown") ? SnowraftException.OutcomeUnknown.class : SnowraftException.Refused.class, e.getClass());
        }
    }

    @Test
    void reasonsMatchVectors() throws Exception {
        for (JsonObject r : Vectors.read("errors.json").objects("reasons")) {
            String name = r.string("reason");
            Failure failure = answer(503, "{\"code\":" + r.count("code") + ",\"message\":\"m\",\"details\":[{\"@type\":\"type.googleapis.com/"
                    + "google.rpc.ErrorInfo\",\"reason\":\"" + name + "\",\"domain\":\"snowraft\",\"metadata\":{}},{\"@type\":\"type.googleapis.com/"
                    + "google.rpc.RetryInfo\",\"retryDelay\":\"" + r.int64("retryAfterMs") / 1000.0 + "s\"}]}");
            assertEquals(name, failure.reasonName());
            assertEquals(r.int64("retryAfterMs"), failure.retryAfter().toMillis());
            check(r.object("outcomes"), failure, name);
        }
    }

    @Test
    void failuresWithoutReasonMatchVectors() throws Exception {
        List<JsonObject> failures = Vectors.read("errors.json").objects("failures");
        List<Failure> mine = List.of(
                Failure.local(Reason.UNAVAILABLE, "connection refused", MEMBER.toString(), true),
                Failure.local(Reason.UNAVAILABLE, "the connection broke", MEMBER.toString(), false),
                answer(504, "{\"code\":4,\"message\":\"late\"}"),
                answer(502, "<html>Bad Gateway</html>"),
                answer(501, "{\"code\":12,\"message\":\"unknown method\"}"));
        assertEquals(failures.size(), mine.size());
        for (int i = 0; i < mine.size(); i++) {
            check(failures.get(i).object("outcomes"), mine.get(i), failures.get(i).string("about"));
        }
    }

    @Test
    void methodsMatchVectors() throws Exception {
        Map<String, JsonObject> methods = new HashMap<>();
        for (JsonObject m : Vectors.read("errors.json").objects("methods")) {
            methods.put(m.string("method"), m);
        }
        for (Method method : Method.values()) {
            JsonObject want = methods.get(method.text());
            assertEquals(want.string("http"), method.verb(), method.text());
            assertEquals(want.string("repeat"), method.repeat().name().toLowerCase(java.util.Locale.ROOT), method.text());
            assertTrue(!want.bool("leader") || method.prefersLeader(), method.text());
        }
    }
}
