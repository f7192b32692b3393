package io.snowraft.internal.call;

import io.snowraft.client.Reason;
import io.snowraft.internal.http.HttpResponse;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;

/**
 * The failure of one try.
 *
 * @param fromMember whether a member gave the reason
 * @param unsent     whether nothing was sent
 * @param foreign    whether the answer did not come from a member
 * @param wrong      whether the address is not that of a member of the cluster: nothing was done, and waiting does not help
 */
record Failure(Reason reason, String reasonName, String message, String member, Duration retryAfter, boolean fromMember,
        boolean unsent, boolean foreign, boolean wrong) {
    static final String TLS_PORT = "the port expects TLS; give a token with a pin, or a CA";
    static final String GRPC_PORT = "the port speaks gRPC; use the port for HTTP, 7701 by default";
    static final String OTHER_PORT = "the port does not speak HTTP; use the port for HTTP, 7701 by default";
    private static final int LONGEST_MESSAGE = 2000;
    /** Statuses of a proxy after which a repetition may succeed. */
    private static final Set<Integer> TEMPORARY = Set.of(408, 425, 429);

    /** Returns a failure of the connection to a member. */
    static Failure local(Reason reason, String message, String member, boolean unsent) {
        return new Failure(reason, reason.name(), message, member, Duration.ZERO, false, unsent, false, reason == Reason.PIN_MISMATCH);
    }

    /** Returns the failure of an address whose port is not one for HTTP of a member, and did not understand the request. */
    static Failure wrongPort(String message, String member) {
        return new Failure(Reason.UNAVAILABLE, Reason.UNAVAILABLE.name(), message, member, Duration.ZERO, false, true, false, true);
    }

    /** Returns the failure that an answer reports. */
    static Failure of(HttpResponse response, String member) {
        try {
            JsonObject status = JsonObject.parse(response.body());
            for (JsonObject detail : status.objects("details")) {
                if (detail.string("domain").equals("snowraft") && detail.has("reason")) {
                    String name = detail.string("reason");
                    return new Failure(Reason.of(name), name, shorten(status.string("message")), member, retryAfter(status), true, false, false, false);
                }
            }
            if (status.has("code")) {
                return withoutReason(status, member);
            }
        } catch (JsonException e) {
            // not from a member
        }
        return foreign(response, member);
    }

    private static Failure withoutReason(JsonObject status, String member) throws JsonException {
        String message = shorten(status.string("message"));
        return switch (status.count("code")) {
            case 1, 4 -> local(Reason.TIMEOUT, message, member, false); // CANCELLED, DEADLINE_EXCEEDED
            case 14 -> local(Reason.UNAVAILABLE, message, member, false);
            default -> new Failure(Reason.OTHER, "", message, member, Duration.ZERO, true, false, false, false);
        };
    }

    private static Failure foreign(HttpResponse response, String member) {
        String text = shorten(new String(response.body(), 0, Math.min(200, response.body().length), StandardCharsets.UTF_8).strip());
        int status = response.status();
        if (text.contains("HTTP request to an HTTPS server")) {
            return wrongPort(TLS_PORT, member);
        } else if (status >= 400 && status < 500 && !TEMPORARY.contains(status)) {
            return wrongPort("not a Snowraft member: HTTP status " + status + "; use the port for HTTP, 7701 by default", member);
        }
        String message = "not a Snowraft member (possibly a proxy): HTTP status " + status;
        return new Failure(Reason.UNAVAILABLE, Reason.UNAVAILABLE.name(), message, member, Duration.ZERO, false, false, true, false);
    }

    /** Returns the time of a google.rpc.RetryInfo, such as "0.500s". */
    private static Duration retryAfter(JsonObject status) throws JsonException {
        for (JsonObject detail : status.objects("details")) {
            String delay = detail.string("retryDelay");
            if (delay.matches("[0-9]{1,9}(\\.[0-9]{1,9})?s")) {
                return Duration.ofMillis(Math.round(Double.parseDouble(delay.substring(0, delay.length() - 1)) * 1000));
            }
        }
        return Duration.ZERO;
    }

    private static String shorten(String text) {
        return text.length() <= LONGEST_MESSAGE ? text : text.substring(0, LONGEST_MESSAGE) + "...";
    }

    /** Reports whether a repetition may succeed and does no harm if the request was done. */
    boolean repeatable(boolean harmless) {
        return !wrong && (reason.undone() || reason.later() || reason.byMethod() && (unsent || harmless));
    }

    /** Reports whether the request may have had an effect. */
    boolean unknown() {
        return !unsent && (!fromMember || reason == Reason.COMMIT_UNKNOWN || reason == Reason.INTERNAL);
    }

    /** Returns the message with the member's address. */
    String text() {
        return member.isEmpty() ? message : member + ": " + message;
    }

    /** Returns the message with the member's address and reason. */
    String part() {
        return text() + (fromMember && !reasonName.isEmpty() ? " [" + reasonName + "]" : "");
    }
}
