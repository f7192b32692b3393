package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Reservations of gapless sequences, at a scripted member. */
class ReservationTest {
    private static final String RESERVE = "/v1/reservations:reserve";
    private static final String CONFIRM = "/v1/reservations:confirm";
    private static final String VOID = "/v1/reservations:void";
    private static final String LIST = "/v1/reservations?";
    private static final Duration AGE = Duration.ofMinutes(1);
    private static final List<String> KEYS = List.of("used", "void", "leave", "stale", "settled", "forgotten", "reusable");
    private static final Map<String, String> REFUSALS = Map.of("stale", "STALE_ATTEMPT", "settled", "ALREADY_SETTLED", "forgotten", "UNKNOWN_RESERVATION");

    private static String item(String key, int number, String fate) {
        return "{\"key\":\"" + key + "\",\"number\":\"" + number + "\",\"text\":\"INV-" + number + "\",\"period\":\"2026-01-01\",\"reservation\":\""
                + (100 + number) + "\",\"attempt\":2,\"fate\":\"" + fate + "\",\"reservedAtMs\":\"1792419138000\",\"holder\":\"token 17 (billing)\"}";
    }

    private static String page(List<String> items, String next) {
        return FakeMember.ok("{\"reservations\":[" + String.join(",", items) + "],\"nextPageToken\":\"" + next + "\"}");
    }

    private static SnowraftClient client(FakeMember member) {
        return SnowraftClient.builder().addresses(member.address()).timeout(Duration.ofMinutes(5)).build();
    }

    private static List<String> bodies(FakeMember member, String path) {
        return member.requests(path).stream().map(FakeMember.Request::body).toList();
    }

    @Test
    void documentReservesItsNumberAndConfirmsItOrMakesItVoid() throws Exception {
        List<String> both = List.of(item("a", 7, "open"), item("b", 8, "confirmed"));
        try (FakeMember member = new FakeMember(r -> r.path().equals(RESERVE) ? page(both, "") : FakeMember.ok("{}")); SnowraftClient client = client(member)) {
            Sequence invoices = client.sequence("inv");
            List<Reservation> got = invoices.reserve("a", "b");
            Reservation a = got.get(0);
            assertEquals(new Reservation(new Claim("a", 107, 2), 7, "INV-7", "2026-01-01", false, Instant.ofEpochMilli(1_792_419_138_000L), "token 17 (billing)"), a);
            assertTrue(got.get(1).confirmed());
            invoices.confirm(a.claim(), got.get(1).claim());
            invoices.makeVoid("canceled", a.claim());
            invoices.voidNeverCommitted("canceled", a.claim());
            invoices.reserveOf("2025", "a", "b");
            String claim = "{\"key\":\"a\",\"reservation\":\"107\",\"attempt\":2}";
            assertEquals(List.of("{\"sequence\":\"inv\",\"keys\":[\"a\",\"b\"]}", "{\"sequence\":\"inv\",\"keys\":[\"a\",\"b\"],\"period\":\"2025\"}"), bodies(member, RESERVE));
            assertEquals(List.of("{\"sequence\":\"inv\",\"claims\":[" + claim + ",{\"key\":\"b\",\"reservation\":\"108\",\"attempt\":2}]}"), bodies(member, CONFIRM));
            assertEquals(List.of("{\"sequence\":\"inv\",\"claims\":[" + claim + "],\"reason\":\"canceled\",\"neverCommitted\":false}",
                    "{\"sequence\":\"inv\",\"claims\":[" + claim + "],\"reason\":\"canceled\",\"neverCommitted\":true}"), bodies(member, VOID));
        }
    }

    /** A wrong answer must not give a document the number of another one. */
    @Test
    void reservationThatCannotBeIsRefused() throws Exception {
        String good = item("a", 7, "open");
        for (List<String> items : List.of(List.<String>of(), List.of(item("b", 7, "open")), List.of(good, item("a", 8, "open")), List.of(item("a", 7, "void")),
                List.of(good.replace("\"107\"", "\"0\"")), List.of(good.replace("\"attempt\":2", "\"attempt\":0")), List.of(good.replace("\"7\"", "\"x\"")),
                List.of(good.replace("2026-01-01", "yesterday")), List.of("\"a\""))) {
            try (FakeMember member = new FakeMember(r -> page(items, "")); SnowraftClient client = client(member)) {
                SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("inv").reserve("a"));
                assertEquals(Reason.MALFORMED_ANSWER, e.reason(), items.toString());
            }
        }
    }

    @Test
    void lostAnswersAreRepeated() throws Exception {
        List<String> answers = new ArrayList<>();
        answers.add(FakeMember.error(500, "COMMIT_UNKNOWN"));
        answers.add(page(List.of(item("a", 7, "open")), ""));
        answers.add(null);
        answers.add(FakeMember.ok("{}"));
        try (FakeMember member = new FakeMember(r -> r.path().startsWith("/v1/reservations") ? answers.remove(0) : FakeMember.ok("{}")); SnowraftClient client = client(member)) {
            Sequence invoices = client.sequence("inv");
            invoices.confirm(invoices.reserve("a").get(0).claim());
            assertEquals(2, member.requests(RESERVE).size());
            assertEquals(2, member.requests(CONFIRM).size());
        }
    }

    /** A member that repeats a token must not keep the client busy. */
    @Test
    void listThatDoesNotEndFails() throws Exception {
        try (FakeMember member = new FakeMember(r -> page(List.of(), "t")); SnowraftClient client = client(member)) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("inv").openReservations(AGE));
            assertEquals(Reason.MALFORMED_ANSWER, e.reason());
            assertEquals(2, member.requests("/v1/reservations").size());
        }
    }

    /** Answers with pages of two open reservations. */
    private static String ledger(FakeMember.Request r) {
        if (r.path().startsWith(LIST)) {
            assertTrue(r.path().startsWith(LIST + "sequence=inv&minAgeMs=60000&"), r.path());
            String token = r.path().substring(r.path().indexOf("pageToken=") + "pageToken=".length());
            int from = token.isEmpty() ? 0 : Integer.parseInt(token);
            int until = Math.min(from + 2, KEYS.size());
            List<String> items = new ArrayList<>();
            for (int i = from; i < until; i++) {
                items.add(item(KEYS.get(i), i, "open"));
            }
            return page(items, until < KEYS.size() ? Integer.toString(until) : "");
        }
        return KEYS.stream().filter(key -> REFUSALS.containsKey(key) && r.body().contains("\"" + key + "\"")).findFirst()
                .map(key -> FakeMember.error(400, REFUSALS.get(key))).orElse(FakeMember.ok("{}"));
    }

    private static Resolution resolve(Reservation r) {
        return switch (r.key()) {
            case "leave" -> Resolution.leave();
            case "void", "forgotten" -> Resolution.voided("canceled");
            case "reusable" -> Resolution.neverCommitted("canceled");
            default -> Resolution.used();
        };
    }

    @Test
    void reconcileLeavesWhatOthersTookOver() throws Exception {
        try (FakeMember member = new FakeMember(ReservationTest::ledger); SnowraftClient client = client(member)) {
            assertEquals(new Reconciled(1, 2, 1, 3), client.sequence("inv").reconcile(AGE, ReservationTest::resolve));
            assertEquals(3, member.requests(CONFIRM).size());
            assertEquals(List.of(false, false, true), bodies(member, VOID).stream().map(b -> b.contains("\"neverCommitted\":true")).toList());
        }
    }

    @Test
    void reconcileStopsAtAnError() throws Exception {
        try (FakeMember member = new FakeMember(ReservationTest::ledger); SnowraftClient client = client(member)) {
            Sequence invoices = client.sequence("inv");
            assertThrows(IllegalStateException.class, () -> invoices.reconcile(AGE, r -> {
                throw new IllegalStateException("database down");
            }));
            SnowraftException e = assertThrows(SnowraftException.class, () -> invoices.openReservations(Duration.ofSeconds(-1)));
            assertEquals(Reason.INVALID_ARGUMENT, e.reason());
            assertEquals(0, member.requests(CONFIRM).size() + member.requests(VOID).size());
        }
    }
}
