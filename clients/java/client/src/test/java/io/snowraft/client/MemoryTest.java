package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** Buffers and blocks: IDs and numbers from memory. */
class MemoryTest {
    private static final String ALLOCATE = "/v1/blocks:allocate";
    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static SnowraftClient client(FakeMember member) {
        return SnowraftClient.builder().addresses(member.address()).timeout(LIMIT).build();
    }

    private static void unique(LongSupplier source) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        Set<Long> all = ConcurrentHashMap.newKeySet();
        for (int t = 0; t < 8; t++) {
            threads.execute(() -> {
                for (int i = 0; i < 20_000; i++) {
                    all.add(source.getAsLong());
                }
            });
        }
        threads.shutdown();
        assertTrue(threads.awaitTermination(LIMIT.toSeconds(), TimeUnit.SECONDS));
        assertEquals(160_000, all.size());
    }

    @Test
    void bufferedIdsAreDifferent() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = client(member)) {
            Buffer buffer = client.buffer(5_000);
            buffer.ready(LIMIT);
            assertTrue(buffer.stats().level() > 0);
            unique(buffer::next);
            buffer.close();
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, buffer::next).reason());
            assertEquals(0, buffer.tryNext());
        }
    }

    @Test
    void idsRequestedBeforeASuspensionAreDropped() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/ids:generate", r -> {
            String answer = cluster.right(r);
            asked.countDown();
            go.await();
            return FakeMember.ok(answer);
        });
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            Buffer buffer = client.buffer(100);
            assertTrue(asked.await(LIMIT.toSeconds(), TimeUnit.SECONDS));
            buffer.suspend();
            buffer.resume();
            go.countDown();
            long id = buffer.next();
            assertTrue(id >= 1100, "each copy of the process would issue " + id);
        } finally {
            go.countDown();
        }
    }

    @Test
    void bufferOutlivesItsMembersAndThenTellsWhy() throws Exception {
        AtomicInteger down = new AtomicInteger();
        FakeCluster cluster = new FakeCluster();
        cluster.on("/v1/ids:generate", r -> down.get() == 0 ? "" : FakeMember.error(503, "NO_LEADER"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = SnowraftClient.builder().addresses(member.address())
                .timeout(Duration.ofMillis(300)).build()) {
            Buffer buffer = client.buffer(BufferOptions.defaults().withSize(100).withFailFast());
            buffer.ready(LIMIT);
            down.set(1);
            Set<Long> ids = new HashSet<>();
            SnowraftException e = assertThrows(SnowraftException.class, () -> {
                for (;;) {
                    ids.add(buffer.next());
                }
            });
            assertEquals(Reason.EMPTY, e.reason());
            assertTrue(ids.size() >= 100);
        }
    }

    @Test
    void oldIdsAreDropped() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = client(member)) {
            Buffer buffer = client.buffer(BufferOptions.defaults().withSize(100).withMaxAge(Duration.ofMillis(100)));
            for (int i = 0; buffer.stats().dropped() == 0; i++) {
                assertTrue(i < 300_000);
                Thread.sleep(1);
            }
            assertTrue(buffer.next() > 0);
        }
    }

    @Test
    void numbersOfBlocksAreDifferent() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = client(member)) {
            Blocks blocks = client.blocks("s");
            assertEquals(1, blocks.next());
            assertEquals(2, blocks.take(10).first());
            unique(blocks::next);
        }
    }

    @Test
    void closingReturnsTheRestOfTheLastBlock() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = client(member)) {
            Blocks blocks = client.blocks("s");
            blocks.take(10);
            blocks.close();
            String body = member.requests("/v1/blocks:return").get(0).body();
            assertTrue(body.contains("\"unused\":\"90\"") && body.contains("\"token\":\"1\""), body);
            assertEquals(Reason.CLOSED, assertThrows(SnowraftException.class, blocks::next).reason());
        }
    }

    @Test
    void blocksOfAnEarlierGenerationAreDropped() throws Exception {
        FakeCluster cluster = new FakeCluster();
        cluster.on(ALLOCATE, r -> FakeMember.ok(cluster.right(r).replace("\"generation\":\"1\"", "\"generation\":\"1\"")));
        AtomicInteger generation = new AtomicInteger(1);
        cluster.on("/v1/sequences/s", r -> FakeMember.ok("{\"sequence\":{\"name\":\"s\",\"generation\":\"" + generation + "\",\"period\":\"\"}}"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            Blocks blocks = client.blocks("s");
            blocks.next();
            generation.set(2); // the blocks of generation 1 are now outdated, and so are those that follow
            SnowraftException e = assertThrows(SnowraftException.class, () -> {
                for (int i = 0; i < 200_000; i++) {
                    blocks.next();
                    Thread.sleep(1);
                }
            });
            assertEquals(Reason.SEQUENCE_CHANGED, e.reason());
            assertTrue(e.retry());
        }
    }

    @Test
    void blockEndsWithItsPeriod() throws Exception {
        TestClock clock = new TestClock();
        long end = clock.wallMillis() + 3_600_000;
        FakeCluster cluster = new FakeCluster();
        AtomicInteger day = new AtomicInteger(29);
        cluster.on(ALLOCATE, r -> FakeMember.ok(cluster.right(r).replace("\"period\":\"\"", "\"period\":\"2026-11-" + day + "\"")
                .replace("\"periodEndsAtMs\":\"0\"", "\"periodEndsAtMs\":\"" + (end + (day.get() - 29) * 86_400_000L) + "\"")));
        try (FakeMember member = new FakeMember(cluster);
                SnowraftClient client = SnowraftClient.builder().addresses(member.address()).timeout(LIMIT).clock(clock).build()) {
            Blocks blocks = client.blocks("s");
            assertEquals("2026-11-29", blocks.take(1).period());
            day.set(30);
            clock.jump(3_600_000);
            assertEquals("2026-11-30", blocks.take(1).period());
        }
    }

    @Test
    void impossibleBlocksAreIgnored() throws Exception {
        String[] wrong = {"\"token\":\"0\"", "\"count\":\"0\"", "\"increment\":\"0\"", "\"first\":\"9223372036854775807\"", "\"period\":\"today\""};
        for (String field : wrong) {
            FakeCluster cluster = new FakeCluster();
            String name = field.split(":")[0];
            cluster.on(ALLOCATE, r -> FakeMember.ok(cluster.right(r).replaceAll(name + ":\"[^\"]*\"", field)));
            try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
                assertEquals(Reason.MALFORMED_ANSWER, assertThrows(SnowraftException.class, client.blocks("s")::next, field).reason());
            }
        }
    }

    @Test
    void sealedStatusStopsAllOfAClient() throws Exception {
        FakeCluster cluster = new FakeCluster();
        CountDownLatch stocked = new CountDownLatch(1);
        cluster.on("/v1/status", r -> {
            stocked.await();
            String status = cluster.right(r);
            return FakeMember.ok(status.substring(0, status.length() - 1) + ",\"sealed\":{}}");
        });
        cluster.on("/v1/ids:generate", r -> stocked.getCount() > 0 ? "" : FakeMember.error(400, "SET_BACK"));
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            Blocks blocks = client.blocks("s");
            Buffer buffer = client.buffer(100);
            Generator generator = client.generator();
            blocks.next();
            buffer.ready(LIMIT);
            generator.ready(LIMIT);
            stocked.countDown();
            SnowraftException e = assertThrows(SnowraftException.class, () -> {
                for (;;) {
                    generator.next();
                    Thread.sleep(1);
                }
            });
            assertEquals(Reason.SET_BACK, e.reason());
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, blocks::next, "99 numbers are left").reason());
            assertEquals(0, buffer.tryNext());
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, buffer::next).reason());
        } finally {
            stocked.countDown();
        }
    }

    @Test
    void sealedClusterStopsBlocksAtOnce() throws Exception {
        FakeCluster cluster = new FakeCluster();
        AtomicInteger sealed = new AtomicInteger();
        FakeMember.Script refuse = r -> sealed.get() == 1 ? FakeMember.error(400, "SET_BACK") : "";
        cluster.on("/v1/ids:generate", refuse).on(ALLOCATE, refuse);
        try (FakeMember member = new FakeMember(cluster); SnowraftClient client = client(member)) {
            Blocks blocks = client.blocks("s");
            blocks.next();
            sealed.set(1);
            assertThrows(SnowraftException.class, client::nextId);
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, blocks::next, "99 numbers are left, but may be granted twice").reason());
            sealed.set(2);
            assertEquals(Reason.SET_BACK, assertThrows(SnowraftException.class, () -> blocks.take(5)).reason());
            try (Blocks another = client.blocks("s")) {
                assertTrue(another.next() > 100);
            }
            blocks.close();
            assertFalse(member.requests("/v1/blocks:return").stream().anyMatch(r -> r.body().contains("\"token\":\"1\"")));
        }
    }
}
