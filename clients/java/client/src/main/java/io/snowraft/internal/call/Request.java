package io.snowraft.internal.call;

import io.snowraft.internal.json.Json;
import java.time.Duration;

/**
 * A request to any member.
 *
 * @param body  null for none
 * @param extra time that a member may take beyond the usual, because the request is large
 * @param force whether the request asks for something that a repetition could do twice
 */
public record Request(Method method, String path, Json body, Duration extra, boolean force) {
    /** The extra time from which a request may use all the time left: another member would take as long. */
    private static final Duration LARGE = Duration.ofSeconds(1);

    /** Returns a request with a body. */
    public static Request of(Method method, String path, Json body) {
        return new Request(method, path, body, Duration.ZERO, false);
    }

    /** Returns a request without a body. */
    public static Request of(Method method, String path) {
        return of(method, path, null);
    }

    boolean harmless() {
        return method.repeat() == Method.Repeat.HARMLESS && !force;
    }

    boolean large() {
        return extra.compareTo(LARGE) > 0;
    }
}
