package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.time.Instant;
import java.util.regex.Pattern;

/**
 * The number that a gapless sequence reserved for a key.
 *
 * @param claim      the key, with the reservation and its last attempt
 * @param number     the number
 * @param text       the number in the format of the sequence; in decimal without one
 * @param period     the first day of the number's period, such as 2026-11-22; empty without a reset
 * @param confirmed  whether the number is in use already; otherwise it is open
 * @param reservedAt the time of the first attempt
 * @param holder     the caller of the last attempt, such as {@code token 17 (billing)}
 */
public record Reservation(Claim claim, long number, String text, String period, boolean confirmed, Instant reservedAt, String holder) {
    private static final Pattern PERIOD = Pattern.compile("([0-9]{4}-[0-9]{2}-[0-9]{2})?");

    /** Returns the key. */
    public String key() {
        return claim.key();
    }

    static Reservation of(JsonObject r) throws JsonException {
        Claim claim = new Claim(r.string("key"), r.uint64("reservation"), r.count("attempt"));
        String fate = r.string("fate");
        String period = r.string("period");
        boolean confirmed = fate.equals("confirmed");
        if (!confirmed && !fate.equals("open") || claim.reservation() == 0 || claim.attempt() == 0 || !PERIOD.matcher(period).matches()) {
            throw new IllegalArgumentException("a reservation that cannot be");
        }
        return new Reservation(claim, r.int64("number"), r.string("text"), period, confirmed, Instant.ofEpochMilli(r.int64("reservedAtMs")),
                r.string("holder"));
    }
}
