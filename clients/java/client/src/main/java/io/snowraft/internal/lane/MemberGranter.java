package io.snowraft.internal.lane;

import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.Json;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;

/**
 * Requests workers and windows over the calls of a client. A call that failed may still have been carried out: the window of a lost reply is lost, and
 * never assumed not to have been granted.
 */
final class MemberGranter implements Granter {
    private static final int NONCE_BYTES = 16;
    private static final int MAX_TEXT = 128;

    private final Caller caller;
    private final String layout;
    private final SecureRandom random = new SecureRandom();
    private final byte[] nonce = new byte[NONCE_BYTES]; // drawn at each start, secret

    MemberGranter(Caller caller, String layout) {
        this.caller = caller;
        this.layout = layout;
        random.nextBytes(nonce);
    }

    @Override
    public long drawExtension() {
        for (;;) {
            long id = random.nextLong();
            if (id != 0) {
                return id;
            }
        }
    }

    @Override
    public Grant acquire(String holder, long wall, long window, Deadline deadline) {
        Json body = new Json().put("layout", layout).put("holder", holder).put("nonce", nonce).put("clockAtMs", wall)
                .put("windowMs", window).put("process", process());
        return grant(caller.call(Request.of(Method.ACQUIRE_WORKER, "/v1/workers:acquire", body), deadline));
    }

    @Override
    public Grant extend(Lease held, long until, long extension, long wall, long window, Deadline deadline) {
        Json body = claim(held, until).put("clockAtMs", wall).put("windowMs", window).putUnsigned("extensionId", extension);
        return grant(caller.call(Request.of(Method.EXTEND_WINDOW, "/v1/workers:extend", body), deadline));
    }

    @Override
    public void release(Lease held, long next, Deadline deadline) {
        Json body = claim(held, held.until()).put("nextTick", next);
        caller.call(Request.of(Method.RELEASE_WORKER, "/v1/workers:release", body), deadline);
    }

    private Json claim(Lease held, long until) {
        return new Json().put("layout", layout).putUnsigned("worker", held.worker).putUnsigned("token", held.token)
                .put("nonce", nonce).put("untilTick", until);
    }

    private static Json process() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            host = "";
        }
        return new Json().put("host", host.length() > MAX_TEXT ? host.substring(0, MAX_TEXT) : host)
                .put("processId", Long.toString(ProcessHandle.current().pid()))
                .put("kind", "generator").put("version", "java " + SnowraftClient.VERSION);
    }

    private static Grant grant(JsonObject answer) {
        try {
            JsonObject g = answer.object("grant");
            return new Grant(g.uint64("worker"), g.uint64("token"), g.int64("fromTick"), g.int64("untilTick"),
                    g.int64("observedClockAtMs"), Math.min(g.int64("maxWindowMs"), Duration.ofDays(1).toMillis()));
        } catch (JsonException e) {
            throw SnowraftException.malformed(e.getMessage());
        }
    }
}
