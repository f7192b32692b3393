package io.snowraft.internal.call;

import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.http.Address;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The tries of one call: which members were called, and how each failed. */
final class Tries {
    private final Request request;
    private final Set<Address> called = new HashSet<>();
    private List<Failure> round = new ArrayList<>(); // one for each member that was called in this round
    private List<Failure> former = List.of(); // those of the previous round
    private Failure before; // the most specific failure of all previous rounds; null if there are none
    private boolean unknown; // a request may have had an effect

    Tries(Request request, long left) {
        this.request = request;
        if (left <= 0) {
            throw SnowraftException.unsent(Reason.TIMEOUT, "the time limit passed before the call");
        }
    }

    /** Returns the members that were called in this round. */
    Set<Address> called() {
        return called;
    }

    /** Adds a failed try. One that the deadline cut short says less than the tries before. */
    void add(Address member, Failure failure, boolean late) {
        called.add(member);
        unknown |= failure.unknown();
        if (!late || failure.fromMember() || before == null && round.isEmpty()) {
            round.add(failure);
        }
    }

    /** Reports whether to try again after a failure. */
    boolean again(Failure failure, boolean others) {
        if (failure.wrong()) {
            return others || !hopeless(); // another address may be right
        }
        if (request.method().repeat() == Method.Repeat.NEVER) {
            return false;
        }
        if (failure.foreign()) {
            return request.harmless(); // a proxy may have forwarded the request
        }
        return failure.reason().undone() || failure.reason().byMethod() && (failure.unsent() || request.harmless());
    }

    /** Reports whether waiting does not help any of the members that were called. */
    boolean hopeless() {
        return round.stream().allMatch(Failure::wrong);
    }

    void nextRound() {
        before = mostSpecific();
        former = round;
        round = new ArrayList<>();
        called.clear();
    }

    /** Returns the latest failure for which a member gave a reason; without one, the latest failure. */
    Failure mostSpecific() {
        Failure best = before;
        for (Failure f : round) {
            if (best == null || f.fromMember() || !best.fromMember()) {
                best = f;
            }
        }
        return best;
    }

    /** Returns the exception of a call whose client was closed. */
    SnowraftException closed() {
        return unknown ? failed(Reason.CLOSED) : SnowraftException.unsent(Reason.CLOSED, "the client is closed");
    }

    /** Returns the exception of a call that is not tried again; {@code cause} is what ended it, or null if no member would serve it. */
    SnowraftException failed(Reason cause) {
        List<Failure> all = new ArrayList<>();
        all.add(cause == null ? round.get(round.size() - 1) : mostSpecific());
        Set<String> named = new HashSet<>(Set.of(all.get(0).member()));
        for (List<Failure> some : List.of(round, former)) {
            for (Failure f : some) {
                if (named.add(f.member())) {
                    all.add(f);
                }
            }
        }
        return exception(all, cause, request.harmless(), unknown);
    }

    /** Returns the exception of failures, of which the first one counts. */
    static SnowraftException exception(List<Failure> failures, Reason cause, boolean harmless, boolean unknown) {
        Failure f = failures.get(0);
        String text = f.text();
        if (failures.size() > 1) {
            text += failures.stream().skip(1).map(Failure::part).collect(Collectors.joining("; ", " (also ", ")"));
        }
        if (failures.stream().allMatch(Failure::unsent) && !f.wrong()) {
            text = "no member can be reached (tried: " + failures.stream().map(Failure::member).collect(Collectors.joining(", ")) + "): "
                    + f.message() + "; check the addresses: they are host:port of the HTTP ports, 7701 by default";
        }
        if (cause != null) {
            text += switch (cause) {
                case CLOSED -> " (the client was closed)";
                case INTERRUPTED -> " (interrupted)";
                default -> " (the time limit passed)";
            };
        }
        Reason reason = f.reason();
        if (cause == Reason.CLOSED || cause == Reason.INTERRUPTED || cause != null && f.reason() == Reason.TIMEOUT) {
            reason = cause;
        }
        String name = reason == f.reason() ? f.reasonName() : reason.name();
        boolean retry = reason == f.reason() ? f.repeatable(harmless) : harmless && reason.byMethod();
        return SnowraftException.of(reason, name, text, f.member(), f.retryAfter(), retry && (harmless || !unknown), unknown, null);
    }
}
