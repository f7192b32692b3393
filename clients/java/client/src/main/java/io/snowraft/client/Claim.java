package io.snowraft.client;

import java.util.Objects;

/**
 * An attempt of a reservation. A later attempt replaces it: what its holder says then changes nothing.
 *
 * @param key         the key, 1 to 128 bytes, chosen by the application
 * @param reservation identifies the reservation among all of the key; unsigned
 * @param attempt     1 for the call that drew the number, one more for each further call with the key
 */
public record Claim(String key, long reservation, int attempt) {
    /** Checks that there is a key. */
    public Claim {
        Objects.requireNonNull(key, "key");
    }
}
