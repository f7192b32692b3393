package io.snowraft.driver;

import io.snowraft.client.Claim;
import io.snowraft.client.Reconciled;
import io.snowraft.client.Reservation;
import io.snowraft.client.Resolution;
import io.snowraft.client.Sequence;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The operations about the numbers of gapless sequences. */
final class Documents {
    private Documents() {
    }

    static Map<String, Object> perform(String op, Sequence sequence, Args args) {
        switch (op) {
            case "confirm" -> sequence.confirm(claims(args));
            case "void" -> sequence.makeVoid(args.text("reason"), claims(args));
            case "reconcile" -> {
                return reconcile(sequence, args);
            }
            default -> {
                List<Reservation> reserved = sequence.reserve(args.texts("keys").toArray(String[]::new));
                return Map.of("reservations", reserved.stream().map(Documents::answer).toList());
            }
        }
        return Map.of();
    }

    private static Map<String, Object> reconcile(Sequence sequence, Args args) {
        List<String> used = args.texts("used");
        List<String> voided = args.texts("void");
        Reconciled done = sequence.reconcile(Duration.ZERO, r -> {
            if (used.contains(r.key())) {
                return Resolution.used();
            }
            return voided.contains(r.key()) ? Resolution.voided("not in the database") : Resolution.leave();
        });
        return Map.of("confirmed", done.confirmed(), "void", done.voided(), "left", done.left(), "overtaken", done.overtaken());
    }

    private static Object answer(Reservation r) {
        return Map.of("key", r.key(), "number", Long.toString(r.number()), "text", r.text(), "reservation", Long.toUnsignedString(r.claim().reservation()),
                "attempt", r.claim().attempt(), "confirmed", r.confirmed());
    }

    private static Claim[] claims(Args args) {
        return args.objects("claims").stream().map(c -> new Claim(c.text("key"), c.number("reservation", 0), c.count("attempt", 1))).toArray(Claim[]::new);
    }
}
