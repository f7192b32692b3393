package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.layout.Layout;
import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Generators against a member of a script: over real connections and with real threads. */
class GeneratorTest {
    private static final String ACQUIRE = "/v1/workers:acquire";
    private static final String EXTEND = "/v1/workers:extend";
    private static final String RELEASE = "/v1/workers:release";
    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static ClientBuilder builder(FakeMember member) {
        return SnowraftClient.builder().addresses(member.address()).timeout(LIMIT);
    }

    private static String field(FakeMember.Request r, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(r.body());
        assertTrue(m.find(), r.body());
        return m.group(1);
    }

    /** Waits until a condition holds, which another thread brings about. */
    private static void until(java.util.function.BooleanSupplier condition) throws InterruptedException {
        for (int i = 0; !condition.getAsBoolean(); i++) {
            assertTrue(i < 300_000, "it never happens");
            Thread.sleep(1);
        }
    }

    @Test
    void idsIncreaseAndWindowsAreExtended() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            long last = 0;
            while (member.requests(EXTEND).isEmpty()) {
                long id = g.next();
                assertTrue(id > last);
                last = id;
            }
            FakeMember.Request r = member.requests(EXTEND).get(0);
            assertNotEquals("0", field(r, "extensionId"));
            assertEquals(field(member.requests(ACQUIRE).get(0), "nonce"), field(r, "nonce"));
            assertEquals(16, java.util.Base64.getDecoder().decode(field(r, "nonce")).length);
            assertEquals("java " + SnowraftClient.VERSION, field(member.requests(ACQUIRE).get(0), "version"));
        }
    }

    @Test
    void lostExtensionIsRepeatedWithItsIdAndEnd() throws Exception {
        FakeCluster cluster = new FakeCluster();
        AtomicInteger lost = new AtomicInteger();
        cluster.on(EXTEND, r -> {
            if (lost.getAndIncrement() < 2) {
                cluster.right(r); // done, but the reply is lost
                return null;
            }
            return "";
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            until(() -> member.requests(EXTEND).size() >= 4);
            List<FakeMember.Request> all = member.requests(EXTEND);
            for (int i = 1; i < 3; i++) {
                assertEquals(field(all.get(0), "extensionId"), field(all.get(i), "extensionId"));
                assertEquals(field(all.get(0), "untilTick"), field(all.get(i), "untilTick"));
            }
            assertNotEquals(field(all.get(2), "extensionId"), field(all.get(3), "extensionId"), "a new extension has a new ID");
            assertEquals(1, member.requests(ACQUIRE).size());
        }
    }

    @Test
    void grantOfALostReplyIsNeverUsed() throws Exception {
        FakeCluster cluster = new FakeCluster();
        AtomicInteger lost = new AtomicInteger();
        cluster.on(ACQUIRE, r -> {
            if (lost.getAndIncrement() < 2) {
                cluster.right(r);
                return null;
            }
            return "";
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            assertEquals(3, g.lanes().get(0).token(), "the third grant is the first whose reply arrived");
            assertEquals(3, Layout.preset("default").decode(g.next()).worker());
            assertEquals(3, member.requests(ACQUIRE).size());
        }
    }

    @Test
    void nothingIsIssuedFromTheEndOfTheWindowOn() throws Exception {
        FakeCluster cluster = new FakeCluster().window(1_000);
        CountDownLatch end = new CountDownLatch(1);
        cluster.on(EXTEND, r -> {
            end.await();
            return null;
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator(GeneratorOptions.defaults().withFailFast());
            g.ready(LIMIT);
            LaneStatus lane = g.lanes().get(0);
            List<Long> ids = new ArrayList<>();
            SnowraftException e = assertThrows(SnowraftException.class, () -> {
                for (;;) {
                    ids.add(g.next());
                }
            });
            assertEquals(Reason.WINDOW_ENDED, e.reason(), e.getMessage());
            assertTrue(e.retry());
            long last = Layout.preset("default").decode(ids.get(ids.size() - 1)).tick();
            assertTrue(last < lane.untilTick(), last + " at or after " + lane.untilTick());
        } finally {
            end.countDown();
        }
    }

    @Test
    void waitingCallersDoNotHurryRequestsForAWindow() throws Exception {
        FakeCluster cluster = new FakeCluster().window(50);
        cluster.on(EXTEND, r -> FakeMember.error(503, "NO_LEADER"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            long began = System.nanoTime();
            Generator g = client.generator();
            until(() -> !g.lanes().isEmpty() && !member.requests(EXTEND).isEmpty());
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                callers.add(new Thread(() -> {
                    SnowraftException e = assertThrows(SnowraftException.class, () -> {
                        for (;;) {
                            g.next(Duration.ofMillis(1_000));
                        }
                    });
                    assertEquals(Reason.WINDOW_ENDED, e.reason());
                }));
            }
            callers.forEach(Thread::start);
            for (Thread caller : callers) {
                caller.join();
            }
            int asked = member.requests(EXTEND).size();
            long seconds = Duration.ofNanos(System.nanoTime() - began).toSeconds();
            assertTrue(asked > 0 && asked < 25 + 4 * seconds, asked + " requests in " + seconds + " s");
        }
    }

    @Test
    void anotherWorkerFollowsARefusedExtension() throws Exception {
        FakeCluster cluster = new FakeCluster();
        cluster.on(EXTEND, r -> FakeCluster.token(r) == 1 ? FakeMember.error(409, "WINDOW_MISMATCH") : "");
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            long before = g.next();
            until(() -> g.lanes().get(0).token() == 2);
            assertTrue(g.next() > before);
            g.close();
            assertEquals(List.of("2"), member.requests(RELEASE).stream().map(r -> field(r, "token")).toList(), "a lost worker is not released");
        }
    }

    @Test
    void closingReleasesWithTheNextTick() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            long id = g.next();
            g.close();
            FakeMember.Request r = member.requests(RELEASE).get(0);
            assertEquals(Layout.preset("default").decode(id).tick() + 1, Long.parseLong(field(r, "nextTick")));
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, g::next).reason());
            assertEquals(1, member.requests(RELEASE).size());
        }
    }

    @Test
    void clocksThatAreOffRefuse() throws Exception {
        TestClock clock = new TestClock();
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).clock(clock).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            until(() -> !member.requests("/v1/status").isEmpty());
            long before = g.next();
            clock.jump(5_000);
            assertEquals(Reason.CLOCK_SKEW, assertThrows(SnowraftException.class, g::next).reason());
            assertEquals(Reason.CLOCK_SKEW, g.problem().orElseThrow().reason());
            clock.jump(-5_000);
            assertTrue(g.next() > before);
            clock.jump(-5_000);
            assertEquals(Reason.CLOCK_BEHIND, assertThrows(SnowraftException.class, g::next).reason());
            clock.jump(5_000);
            assertTrue(g.next() > before);
        }
    }

    @Test
    void defaultClockIsThatOfTheSystem() {
        long wall = System.currentTimeMillis();
        long mono = System.nanoTime() / 1_000_000;
        assertTrue(Clock.system().wallMillis() >= wall && Clock.system().wallMillis() <= System.currentTimeMillis());
        assertTrue(Clock.system().monotonicMillis() >= mono && Clock.system().monotonicMillis() <= System.nanoTime() / 1_000_000);
    }

    @Test
    void sealedClusterStopsGeneratorsAtOnce() throws Exception {
        FakeCluster cluster = new FakeCluster();
        AtomicInteger sealed = new AtomicInteger();
        FakeMember.Script refuse = r -> sealed.get() == 1 ? FakeMember.error(400, "SET_BACK") : "";
        cluster.on(ACQUIRE, refuse).on("/v1/ids:generate", refuse);
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            g.ready(LIMIT);
            g.next();
            sealed.set(1);
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, client::nextId).reason());
            SnowraftException e = assertThrows(SnowraftException.class, g::next, "the window is not over, but the cluster may have granted it twice");
            assertEquals(Reason.SET_BACK, e.reason());
            assertFalse(e.retry());
            sealed.set(2);
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, () -> g.ready(LIMIT)).reason(), "it stays refused");
            assertEquals(1, member.requests(ACQUIRE).size());
            Generator another = client.generator();
            another.ready(LIMIT);
            assertTrue(another.next() > 0);
            g.close();
            another.close();
            assertEquals(List.of("2"), member.requests(RELEASE).stream().map(r -> field(r, "token")).toList(), "nothing of the sealed time is released");
        }
    }

    @Test
    void readyFailsAtOnceForAnUnknownLayout() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster().on("/v1/layouts/", r -> FakeMember.error(404, "UNKNOWN_LAYOUT")));
                SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            assertEquals(Reason.UNKNOWN_LAYOUT, assertThrows(SnowraftException.class, () -> g.ready(Duration.ofDays(1))).reason());
            assertEquals(Reason.UNKNOWN_LAYOUT, assertThrows(SnowraftException.class, g::next).reason());
        }
    }

    @Test
    void readyHasADeadline() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster().on(ACQUIRE, r -> FakeMember.error(503, "NO_LEADER")));
                SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            SnowraftException e = assertThrows(SnowraftException.class, () -> g.ready(Duration.ofMillis(100)));
            assertEquals(Reason.WINDOW_ENDED, e.reason());
            assertTrue(e.retry());
        }
    }

    @Test
    void nextAfterIsGreater() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator();
            long id = g.next();
            assertTrue(g.nextAfter(id + 5000) > id + 5000);
            assertThrows(SnowraftException.class, () -> g.nextAfter(-1));
            assertThrows(SnowraftException.class, () -> g.nextAfter(Long.MAX_VALUE));
        }
    }

    @Test
    void threadsGetDifferentIds() throws Exception {
        unique(Executors.newFixedThreadPool(16), 16, 20_000);
    }

    @Test
    void virtualThreadsGetDifferentIds() throws Exception {
        ExecutorService threads;
        try {
            threads = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException e) {
            return; // before Java 21
        }
        unique(threads, 2_000, 100);
    }

    private static void unique(ExecutorService threads, int tasks, int each) throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).build()) {
            Generator g = client.generator(GeneratorOptions.defaults().withLanes(3));
            long[][] ids = new long[tasks][];
            for (int t = 0; t < tasks; t++) {
                int mine = t;
                threads.execute(() -> {
                    long[] some = new long[each];
                    for (int i = 0; i < each; i++) {
                        some[i] = i % 10 == 0 && i > 0 ? g.next(2)[1] : g.next();
                    }
                    ids[mine] = some;
                });
            }
            threads.shutdown();
            assertTrue(threads.awaitTermination(LIMIT.toSeconds(), TimeUnit.SECONDS));
            Set<Long> all = new HashSet<>();
            for (long[] some : ids) {
                Arrays.stream(some).forEach(all::add);
            }
            assertEquals(tasks * each, all.size());
        }
    }

    @Test
    void impossibleGrantsMayHaveHadAnEffect() throws Exception {
        for (String worker : List.of("1024", "x")) {
            BlockingQueue<SnowraftException> failures = new LinkedBlockingQueue<>();
            FakeCluster cluster = new FakeCluster();
            cluster.on(ACQUIRE, r -> FakeMember.ok(cluster.right(r).replaceFirst("\"worker\":\"[0-9]+\"", "\"worker\":\"" + worker + "\"")));
            try (FakeMember member = new FakeMember(cluster); SnowraftClient client = builder(member).listener(new ClientListener() {
                @Override
                public void windowNotGranted(String layout, int lane, SnowraftException failure) {
                    failures.add(failure);
                }
            }).build()) {
                client.generator();
                SnowraftException e = failures.poll(5, TimeUnit.MINUTES);
                assertInstanceOf(SnowraftException.OutcomeUnknown.class, e);
                assertEquals(Reason.MALFORMED_ANSWER, e.reason());
            }
        }
    }

    @Test
    void listenerHearsOfWorkers() throws Exception {
        CountDownLatch extended = new CountDownLatch(1);
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).listener(new ClientListener() {
            @Override
            public void workerAcquired(String layout, int lane, long worker) {
                throw new IllegalStateException("a listener has no effect on the client");
            }

            @Override
            public void windowExtended(String layout, int lane, long worker, long untilMillis) {
                extended.countDown();
            }
        }).build()) {
            client.generator().ready(LIMIT);
            assertTrue(extended.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
        }
    }

    @Test
    @Timeout(30)
    void firstFailedTryIsTheCauseOfAMissingWindow() throws Exception {
        try (SnowraftClient client = SnowraftClient.builder().addresses("127.0.0.1:1").timeout(Duration.ofMinutes(1)).build();
                Generator generator = client.generator()) {
            String want = "snowraft: no window was granted yet: no member can be reached (tried: 127.0.0.1:1): Connection refused; "
                    + "check the addresses: they are host:port of the HTTP ports, 7701 by default [WINDOW_ENDED]";
            while (!generator.problem().orElseThrow().getMessage().equals(want)) {
                Thread.onSpinWait();
            }
        }
    }
}
