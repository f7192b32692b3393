package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.layout.Layout;
import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Calls: choice of members, repetitions, errors and answers that make no sense. */
class CallTest {
    private static final String IDS = "/v1/ids:generate";
    private static final String NEXT = "/v1/sequences:setNext";
    /** A call whose tries have no time limit of their own, and that may be repeated. */
    private static final String CREATE = "/v1/sequences";

    /** A limit that only bounds a hang. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static SnowraftClient client(FakeMember... members) {
        return SnowraftClient.builder().addresses(java.util.Arrays.stream(members).map(FakeMember::address).toArray(String[]::new))
                .timeout(LIMIT).build();
    }

    /** Returns the error of a call that a member answers with errors until its time has passed. */
    private static SnowraftException failure(FakeMember member) {
        for (Duration limit = Duration.ofMillis(200);; limit = limit.multipliedBy(2)) {
            try (SnowraftClient client = SnowraftClient.builder().addresses(member.address()).timeout(limit).build()) {
                SnowraftException e = assertThrows(SnowraftException.class, () -> client.createSequence("s", SequenceSpec.of()));
                if (e.reason() != Reason.TIMEOUT || limit.compareTo(LIMIT) > 0) { // otherwise no answer came in time, on a busy machine
                    return e;
                }
            }
        }
    }

    @Test
    void harmlessCallIsRepeatedAtAnotherMember() throws Exception {
        try (FakeMember broken = new FakeMember(r -> null); FakeMember refusing = new FakeMember(r -> FakeMember.error(503, "WINDOW_ENDED"));
                FakeMember right = new FakeMember(new FakeCluster()); SnowraftClient client = client(broken, refusing, right)) {
            for (int i = 0; i < 10; i++) {
                assertTrue(client.nextId() > 0);
            }
        }
    }

    @Test
    void callThatMayBeDoneIsNotRepeated() throws Exception {
        try (FakeMember broken = new FakeMember(new FakeCluster().on(NEXT, r -> null)); SnowraftClient client = client(broken)) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("s").setNext(5, false));
            assertEquals(Reason.UNAVAILABLE, e.reason());
            assertTrue(e.unknown());
            assertFalse(e.retry());
            assertEquals(1, broken.requests(NEXT).size());
        }
    }

    @Test
    void callThatDidNothingIsRepeated() throws Exception {
        FakeCluster cluster = new FakeCluster();
        cluster.on(NEXT, r -> r.number() < 3 ? FakeMember.error(503, "NO_LEADER")
                : FakeMember.ok("{\"sequence\":{\"name\":\"s\",\"mode\":\"strict\",\"reset\":\"none\",\"next\":\"5\"}}"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            assertEquals(OptionalLong.of(5), client.sequence("s").setNext(5, false).next());
            assertTrue(member.requests(NEXT).size() > 1);
        }
    }

    @Test
    void refusalIsNotRepeated() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster().on(CREATE, r -> FakeMember.error(403, "PERMISSION_DENIED")));
                SnowraftClient client = client(member)) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.createSequence("s", SequenceSpec.of()));
            assertEquals(Reason.PERMISSION_DENIED, e.reason());
            assertEquals("snowraft: " + member.address() + ": because of PERMISSION_DENIED [PERMISSION_DENIED]", e.getMessage());
            assertEquals(member.address(), e.member());
            assertFalse(e.retry() || e.unknown());
            assertEquals(1, member.requests(CREATE).size());
        }
    }

    @Test
    void silentMemberIsLeftForAnother() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (FakeMember silent = new FakeMember(r -> {
            end.await();
            return null;
        }); FakeMember right = new FakeMember(new FakeCluster()); SnowraftClient client = client(silent, right)) {
            for (int i = 0; i < 5; i++) {
                assertTrue(client.nextId() > 0);
            }
            assertTrue(silent.requests(IDS).size() <= 2, "a member that did not answer is avoided for some seconds");
        } finally {
            end.countDown();
        }
    }

    @Test
    void timeLimitHoldsAndTellsTheObstacle() throws Exception {
        try (FakeMember member = new FakeMember(r -> FakeMember.error(503, "NO_LEADER"))) {
            SnowraftException e = failure(member);
            assertEquals(Reason.NO_LEADER, e.reason());
            assertTrue(e.getMessage().endsWith(" (the time limit passed) [NO_LEADER]"), e.getMessage());
            assertTrue(e.retry());
        }
    }

    @Test
    void unreachableMembersAreNamed() {
        try (SnowraftClient client = SnowraftClient.builder().addresses("127.0.0.1:1", "127.0.0.1:2").timeout(Duration.ofSeconds(2)).build()) {
            SnowraftException e = assertThrows(SnowraftException.class, client::nextId);
            assertEquals(Reason.UNAVAILABLE, e.reason());
            assertTrue(e.getMessage().matches("snowraft: no member can be reached \\(tried: 127.0.0.1:[12], 127.0.0.1:[12]\\): Connection refused; "
                    + "check the addresses: they are host:port of the HTTP ports, 7701 by default.* \\[UNAVAILABLE]"), e.getMessage());
            assertTrue(e.retry());
            assertFalse(e.unknown());
        }
    }

    @Test
    void wrongPortIsNamedAtOnce() throws Exception {
        Map<String, String> texts = Map.of(
                "\0\0\22\4\0\0\0\0\0", "the port speaks gRPC; use the port for HTTP, 7701 by default",
                "\25\3\1\0\2\2\106", "the port expects TLS; give a token with a pin, or a CA",
                "SSH-2.0-OpenSSH\r\n", "the port does not speak HTTP; use the port for HTTP, 7701 by default",
                FakeMember.answer(400, "Client sent an HTTP request to an HTTPS server.\n"), "the port expects TLS; give a token with a pin, or a CA",
                FakeMember.answer(404, "404 page not found"), "not a Snowraft member: HTTP status 404; use the port for HTTP, 7701 by default");
        for (Map.Entry<String, String> t : texts.entrySet()) {
            try (FakeMember port = new FakeMember(r -> t.getKey());
                    SnowraftClient client = SnowraftClient.builder().addresses(port.address()).timeout(LIMIT).build()) {
                Executable create = () -> client.createSequence("s", SequenceSpec.of());
                Executable setNext = () -> client.sequence("s").setNext(5, false);
                for (Executable call : List.of(create, setNext, () -> client.generator().ready(LIMIT), () -> client.buffer(10).ready(LIMIT))) {
                    SnowraftException e = assertThrows(SnowraftException.class, call);
                    assertEquals("snowraft: " + port.address() + ": " + t.getValue() + " [UNAVAILABLE]", e.getMessage());
                    assertEquals(Reason.UNAVAILABLE, e.reason());
                    assertFalse(e.retry());
                    assertFalse(e.unknown() && (call == create || call == setNext)); // a slow try of the others may end unanswered
                    assertNull(e.getCause());
                }
                assertEquals(2, port.requests("/v1/sequences").size());
            }
        }
    }

    @Test
    void garbageAfterAnInterimAnswerIsUnknown() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster().on(NEXT, r -> "HTTP/1.1 100 Continue\r\n\r\ngarbage\r\n"));
                SnowraftClient client = client(member)) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("s").setNext(5, false));
            assertEquals(Reason.UNAVAILABLE, e.reason());
            assertTrue(e.unknown());
            assertFalse(e.retry());
        }
    }

    @Test
    void wrongPortIsLeftForAMember() throws Exception {
        try (FakeMember wrong = new FakeMember(r -> "\0\0\22\4\0\0\0\0\0"); FakeMember right = new FakeMember(new FakeCluster());
                SnowraftClient client = client(wrong, right)) {
            for (int i = 0; i < 10; i++) {
                assertTrue(client.nextId() > 0);
            }
        }
    }

    @Test
    void brokenConnectionIsNotATimeLimit() throws Exception {
        try (FakeMember broken = new FakeMember(r -> null)) {
            SnowraftException e = failure(broken);
            assertEquals(Reason.UNAVAILABLE, e.reason());
            assertTrue(e.unknown(), "a member may have done it");
        }
    }

    @Test
    void addressesMayBeOneText() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster());
                SnowraftClient client = SnowraftClient.connect(member.address() + ", 127.0.0.1:1")) {
            assertTrue(client.nextId() > 0);
        }
        for (String[] invalid : new String[][] {null, {null}, {""}, {"a:1,"}, {"a b"}}) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> SnowraftClient.builder().addresses(invalid));
            assertEquals(Reason.INVALID_ARGUMENT, e.reason());
        }
    }

    @Test
    void textsOfARequestAreRepeated() throws Exception {
        String answer = "{\"first\":\"7\",\"count\":2,\"increment\":\"1\",\"texts\":[\"INV-7\",\"INV-8\"]}";
        try (FakeMember member = new FakeMember(new FakeCluster().on("/v1/sequences:next", r -> FakeMember.ok(answer)));
                SnowraftClient client = client(member)) {
            assertEquals(List.of("INV-7", "INV-8"), client.sequence("invoices").textsOnce("basket-1", 2));
            assertTrue(member.requests("/v1/sequences:next").get(0).body().contains("\"requestId\":\"basket-1\""));
            assertThrows(SnowraftException.class, () -> client.sequence("invoices").textsOnce("basket-1", 1001));
        }
    }

    @Test
    void numbersOfAPeriodAreRequestedByItsName() throws Exception {
        String answer = "{\"first\":\"813\",\"count\":1,\"increment\":\"1\",\"period\":\"2026-10-01\",\"texts\":[\"OCT-813\"]}";
        try (FakeMember member = new FakeMember(new FakeCluster().on("/v1/sequences:next", r -> FakeMember.ok(answer)));
                SnowraftClient client = client(member)) {
            Sequence invoices = client.sequence("invoices");
            assertEquals("2026-10-01", invoices.takeOf(NumberPeriod.of("2026-10"), 1).period());
            assertEquals(813, invoices.takeOfAsync(NumberPeriod.of("2026-10"), 1).get().first());
            assertEquals(List.of("OCT-813"), invoices.textsOf(NumberPeriod.of("2026-10").from(813).requestId("r"), 1));
            List<String> bodies = member.requests("/v1/sequences:next").stream().map(r -> r.body()).toList();
            String request = "{\"sequence\":\"invoices\",\"count\":1,\"period\":\"2026-10\"";
            assertEquals(List.of(request + "}", request + "}", request + ",\"from\":\"813\",\"requestId\":\"r\"}"), bodies);
            assertThrows(SnowraftException.class, () -> NumberPeriod.of(""));
            assertThrows(SnowraftException.class, () -> invoices.takeOfAsync(NumberPeriod.of("2026-10"), 0));
            assertThrows(SnowraftException.class, () -> invoices.textsOf(NumberPeriod.of("2026-10"), 1001));
        }
    }

    @Test
    void connectionThatTheMemberClosedIsReplaced() throws Exception {
        try (FakeMember member = new FakeMember(r -> {
            String answer = new FakeCluster().answer(r);
            return answer.replace("Content-Type", "Connection: close\r\nContent-Type");
        }); SnowraftClient client = client(member)) {
            assertTrue(client.nextId() > 0);
            assertTrue(client.nextId() > 0);
        }
    }

    @Test
    void proxyIsNamed() throws Exception {
        try (FakeMember proxy = new FakeMember(r -> FakeMember.answer(502, "<html>")); SnowraftClient client = client(proxy)) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("s").setNext(5, false));
            assertTrue(e.getMessage().contains("not a Snowraft member (possibly a proxy): HTTP status 502"), e.getMessage());
            assertTrue(e.unknown());
        }
    }

    @Test
    void listsHaveAllPages() throws Exception {
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/layouts", r -> {
            boolean last = r.path().endsWith("&pageToken=b");
            return FakeMember.ok("""
                    {"layouts":[{"name":"%s","fields":[{"kind":"time","bits":41},{"kind":"worker","bits":10},{"kind":"sequence","bits":12}],
                    "unitMs":"1","epochAtMs":"1767225600000"}],"nextPageToken":"%s"}""".formatted(last ? "b" : "a", last ? "" : "b"));
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            assertEquals(List.of("a", "b"), client.listLayouts().stream().map(Layout::name).toList());
        }
    }

    @Test
    void aDeletionNamesTheGeneration() throws Exception {
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/sequences/s", r -> r.path().endsWith("/s?expectedGeneration=7") ? FakeMember.ok("{\"unreachedMembers\":[\"m2\"]}")
                : FakeMember.error(412, "GENERATION_MISMATCH"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            assertEquals(List.of("m2"), client.deleteSequence("s", OptionalLong.of(7)));
            assertEquals(Reason.GENERATION_MISMATCH, assertThrows(SnowraftException.class, () -> client.deleteSequence("s")).reason());
        }
    }

    @Test
    void impossibleAnswersAreDiscarded() throws Exception {
        String[] ranges = {"{\"first\":\"5\",\"count\":1,\"step\":\"1\"}", "{\"first\":\"0\",\"count\":2,\"step\":\"1\"}",
            "{\"first\":\"-1\",\"count\":2,\"step\":\"1\"}", "{\"first\":\"5\",\"count\":2,\"step\":\"0\"}",
            "{\"first\":\"9223372036854775807\",\"count\":2,\"step\":\"1\"}", "{\"first\":\"5\",\"count\":1,\"step\":\"1\"},{\"first\":\"5\",\"count\":1,\"step\":\"1\"}",
            "{\"first\":\"5\",\"count\":3,\"step\":\"1\"}", "{\"first\":\"5\",\"count\":2,\"step\":\"6148914691236517205\"}x"};
        for (String range : ranges) {
            try (FakeMember member = new FakeMember(new FakeCluster().on(IDS, r -> FakeMember.ok("{\"ranges\":[" + range + "]}")));
                    SnowraftClient client = client(member)) {
                assertEquals(Reason.MALFORMED_ANSWER, assertThrows(SnowraftException.class, () -> client.nextIds(2), range).reason(), range);
            }
        }
    }

    @Test
    void membersAndLeaderAreLearned() throws Exception {
        FakeCluster cluster = new FakeCluster();
        CountDownLatch asked = new CountDownLatch(1);
        try (FakeMember learned = new FakeMember(cluster)) {
            FakeMember.Script members = r -> {
                asked.countDown();
                return FakeMember.ok("{\"members\":[{\"httpAddress\":\"" + learned.address() + "\",\"leader\":true},{\"httpAddress\":\"\"}]}");
            };
            try (FakeMember seed = new FakeMember(new FakeCluster().on("/v1/members", members)); SnowraftClient client = client(seed)) {
                client.sequence("s").next();
                assertTrue(asked.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
                for (int i = 0; learned.requests().isEmpty(); i++) {
                    assertTrue(i < 10_000, "the leader is never called");
                    client.sequence("s").next();
                }
            }
        }
    }

    @Test
    void receiptIsBroughtBack() throws Exception {
        String receipt = io.snowraft.test.Vectors.read("receipts.json").objects("steps").get(2).string("receipt");
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/members", r -> FakeMember.ok("{\"members\":[],\"receipt\":\"" + receipt + "\"}"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            client.ready(LIMIT);
            int before = member.requests("/v1/members").size();
            client.ready(LIMIT);
            List<FakeMember.Request> asked = member.requests("/v1/members");
            assertTrue(asked.get(0).head().contains("Snowraft-Receipt: \r\n"), "empty at first");
            assertTrue(asked.stream().skip(before).anyMatch(r -> r.head().contains("Snowraft-Receipt: " + receipt + "\r\n")));
            assertFalse(member.received().contains("ids:generate"), "it issues no ID");
        }
    }

    @Test
    void closingEndsCalls() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        try (FakeMember silent = new FakeMember(r -> {
            asked.countDown();
            end.await();
            return null;
        })) {
            SnowraftClient client = client(silent);
            var future = client.nextIdAsync();
            assertTrue(asked.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
            client.close();
            CompletionException e = assertThrows(CompletionException.class, future::join);
            assertEquals(Reason.CLOSED, ((SnowraftException) e.getCause()).reason());
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, client::nextId).reason());
            assertThrows(CompletionException.class, () -> client.nextIdAsync().join());
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, () -> client.generator().next()).reason());
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, () -> client.buffer(10).next()).reason());
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, () -> client.blocks("s").next()).reason());
        } finally {
            end.countDown();
        }
    }

    @Test
    void closingLeavesTheOutcomeUnknown() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        try (FakeMember silent = new FakeMember(new FakeCluster().on(NEXT, r -> {
            asked.countDown();
            end.await();
            return null;
        }))) {
            SnowraftClient client = client(silent);
            var change = CompletableFuture.supplyAsync(() -> assertThrows(SnowraftException.class, () -> client.sequence("s").setNext(5, false)));
            assertTrue(asked.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
            client.close();
            SnowraftException e = change.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            assertEquals(Reason.CLOSED, e.reason());
            assertTrue(e.unknown(), "the member got the request");
            assertFalse(e.retry());
            SnowraftException later = assertThrows(SnowraftException.class, () -> client.sequence("s").setNext(5, false));
            assertEquals(Reason.CLOSED, later.reason());
            assertFalse(later.unknown(), "nothing was sent");
        } finally {
            end.countDown();
        }
    }

    @Test
    void closingBetweenTriesLeavesTheOutcomeUnknown() throws Exception {
        AtomicReference<SnowraftClient> client = new AtomicReference<>();
        CompletableFuture<Void> failed = new CompletableFuture<>();
        ClientListener closer = new ClientListener() {
            @Override
            public void tried(String method, String member, Duration took, SnowraftException failure) {
                if (method.equals("CreateSequence") && !failed.complete(null)) {
                    client.get().close(); // after the try before had an unknown outcome
                }
            }
        };
        FakeCluster cluster = new FakeCluster().on(CREATE, r -> failed.isDone() ? FakeMember.error(503, "NO_LEADER") : null);
        try (FakeMember member = new FakeMember(cluster)) {
            client.set(SnowraftClient.builder().addresses(member.address()).timeout(LIMIT).listener(closer).build());
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.get().createSequence("s", SequenceSpec.of()));
            assertEquals(Reason.CLOSED, e.reason());
            assertTrue(e.unknown());
            assertTrue(e.getMessage().endsWith(" (the client was closed) [CLOSED]"), e.getMessage());
        }
    }

    @Test
    void callersShareCalls() throws Exception {
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/sequences:next", r -> {
            first.countDown();
            go.await();
            return "";
        });
        List<Integer> shared = new CopyOnWriteArrayList<>();
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = SnowraftClient.builder().addresses(member.address())
                .listener(new ClientListener() {
                    @Override
                    public void shared(int callers, int count, SnowraftException failure) {
                        shared.add(callers);
                    }
                }).build()) {
            Sequence sequence = client.sequence("s");
            List<CompletableFuture<Long>> futures = new ArrayList<>();
            futures.add(sequence.nextAsync());
            assertTrue(first.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
            for (int i = 0; i < 99; i++) {
                futures.add(sequence.nextAsync());
            }
            go.countDown();
            long[] numbers = futures.stream().map(f -> f.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS)).mapToLong(CompletableFuture::join).sorted()
                    .toArray();
            assertArrayEquals(java.util.stream.LongStream.rangeClosed(1, 100).toArray(), numbers);
            assertEquals(100, shared.stream().mapToInt(Integer::intValue).sum());
            assertTrue(member.requests("/v1/sequences:next").size() < 60);
            assertEquals(101, sequence.next()); // a caller whose call no other joins
        }
    }

    @Test
    void interruptedLeaderLeavesItsCallToOthers() throws Exception {
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        FakeCluster cluster = new FakeCluster();
        cluster.on(IDS, r -> {
            first.countDown();
            go.await();
            return FakeMember.error(503, "NO_LEADER"); // so that the leader looks at its interruption
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            Thread leader = new Thread(() -> assertEquals(Reason.INTERRUPTED, assertThrows(SnowraftException.class, client::nextId).reason()));
            leader.start();
            assertTrue(first.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
            leader.interrupt();
            go.countDown();
            leader.join(LIMIT.toMillis());
            assertFalse(leader.isAlive());
        }
    }
}
