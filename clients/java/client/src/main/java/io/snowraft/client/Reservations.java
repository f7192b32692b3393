package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.json.Json;
import io.snowraft.internal.json.JsonObject;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** The reservations of a gapless sequence. */
final class Reservations {
    private final Caller caller;
    private final String sequence;

    Reservations(Caller caller, String sequence) {
        this.caller = caller;
        this.sequence = sequence;
    }

    List<Reservation> reserve(String period, String... keys) {
        Json body = new Json().put("sequence", sequence).putStrings("keys", List.of(keys));
        if (!period.isEmpty()) {
            body.put("period", period);
        }
        JsonObject answer = caller.call(Request.of(Method.RESERVE_NUMBERS, "/v1/reservations:reserve", body));
        List<Reservation> all = Answers.readAll(answer, "reservations", Reservation::of);
        if (!all.stream().map(Reservation::key).toList().equals(List.of(keys))) {
            throw SnowraftException.malformed(all.size() + " reservations for " + keys.length + " keys, or of other keys");
        }
        return all;
    }

    void confirm(Claim... claims) {
        caller.call(Request.of(Method.CONFIRM_NUMBERS, "/v1/reservations:confirm", claims(claims)));
    }

    void makeVoid(String reason, boolean neverCommitted, Claim... claims) {
        caller.call(Request.of(Method.VOID_NUMBERS, "/v1/reservations:void", claims(claims).put("reason", reason).put("neverCommitted", neverCommitted)));
    }

    List<Reservation> open(Duration minAge) {
        if (minAge.isNegative()) {
            throw Answers.invalid("age " + minAge + ": expected at least 0");
        }
        String path = "/v1/reservations?sequence=" + Paths.query(sequence) + "&minAgeMs=" + minAge.toMillis() + "&";
        return Answers.list(caller, Method.LIST_RESERVATIONS, path, "reservations", Reservation::of);
    }

    Reconciled reconcile(Duration minAge, Function<Reservation, Resolution> resolve) {
        int confirmed = 0;
        int voided = 0;
        int left = 0;
        int overtaken = 0;
        for (Reservation r : open(minAge)) {
            Resolution answer = resolve.apply(r);
            if (!settle(r.claim(), answer)) {
                overtaken++;
                continue;
            }
            switch (answer.fate()) {
                case USED -> confirmed++;
                case VOID -> voided++;
                case LEAVE -> left++;
            }
        }
        return new Reconciled(confirmed, voided, left, overtaken);
    }

    /** Does what a resolution says. Returns false if another caller reserved the key again or settled its number meanwhile. */
    private boolean settle(Claim claim, Resolution answer) {
        try {
            switch (answer.fate()) {
                case USED -> confirm(claim);
                case VOID -> makeVoid(answer.reason(), answer.neverCommitted(), claim);
                case LEAVE -> {
                }
            }
            return true;
        } catch (SnowraftException e) {
            return switch (e.reason()) {
                case STALE_ATTEMPT, ALREADY_SETTLED, UNKNOWN_RESERVATION -> false;
                default -> throw e;
            };
        }
    }

    private Json claims(Claim... claims) {
        return new Json().put("sequence", sequence).put("claims", Arrays.stream(claims)
                .map(c -> new Json().put("key", c.key()).putUnsigned("reservation", c.reservation()).put("attempt", c.attempt())).toList());
    }
}
