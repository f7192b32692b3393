package io.snowraft.internal.call;

import io.snowraft.client.Reason;
import io.snowraft.internal.http.HttpResponse;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * The failure of one try.
 *
 * @param fromMember whether a member gave the reason
 * @param unsent     whether nothing was sent
 * @param foreign    whether the answer did not come from a member
 */
record Failure(Reason reason, String reasonName, String message, String member, Duration retryAfter, boolean fromMember,
        boolean unsent, boolean foreign) {
    private static final int LONGEST_MESSAGE = 2000;

    /** Returns a failure of the connection to a member. */
    static Failure local(Reason reason, String message, String member, boolean unsent) {
        return new Failure(reason, reason.name(), message, member, Duration.ZERO, false, unsent, false);
    }

    /** Returns the failure that an answer reports. */
    static Failure of(HttpResponse response, String member) {
        try {
            JsonObject status = JsonObject.parse(response.body());
            for (JsonObject detail : status.objects("details")) {
                if (detail.string("domain").equals("snowraft") && detail.has("reason")) {
                    String name = detail.string("reason");
                    return new Failure(Reason.of(name), name, shorten(status.string("message")), member, retryAfter(status), true, false, false);
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
            default -> new Failure(Reason.OTHER, "", message, member, Duration.ZERO, true, false, false);
        };
    }

    private static Failure foreign(HttpResponse response, String member) {
        String text = shorten(new String(response.body(), 0, Math.min(200, response.body().length), StandardCharsets.UTF_8).strip());
        String message = text.contains("HTTP request to an HTTPS server")
                ? "the port expects TLS; use a token with a pin, or give a CA"
                : "not a Snowraft member (possibly a proxy): HTTP status " + response.status();
        return new Failure(Reason.UNAVAILABLE, Reason.UNAVAILABLE.name(), message, member, Duration.ZERO, false, false, true);
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
        return reason.undone() || reason.later() || reason.byMethod() && (unsent || harmless);
    }

    /** Reports whether the request may have had an effect. */
    boolean unknown() {
        return !unsent && (!fromMember || reason == Reason.COMMIT_UNKNOWN || reason == Reason.INTERNAL);
    }

    /** Returns the message with the member's address and reason. */
    String part() {
        return (member.isEmpty() ? "" : member + ": ") + message + (fromMember && !reasonName.isEmpty() ? " [" + reasonName + "]" : "");
    }
}
