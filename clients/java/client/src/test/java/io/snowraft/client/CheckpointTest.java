package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.List;
import org.crac.Core;
import org.crac.Resource;
import org.junit.jupiter.api.Test;

class CheckpointTest {
    private static final Duration LIMIT = Duration.ofMinutes(5);

    @Test
    void checkpointGivesUpAllThatCopiesMustNotShare() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = SnowraftClient.connect(member.address())) {
            List<Resource> all = Core.getGlobalContext().registered;
            Resource resource = all.get(all.size() - 1);
            Generator g = client.generator();
            Buffer buffer = client.buffer(100);
            Blocks blocks = client.blocks("s");
            g.ready(LIMIT);
            buffer.ready(LIMIT);
            blocks.next();

            resource.beforeCheckpoint(Core.getGlobalContext());
            assertEquals(1, member.requests("/v1/workers:release").size());
            assertEquals(List.of(), g.lanes());
            assertTrue(g.problem().isPresent());
            assertEquals(0, buffer.tryNext());
            int blocksBefore = member.requests("/v1/blocks:allocate").size();

            resource.afterRestore(Core.getGlobalContext());
            g.ready(LIMIT);
            assertTrue(g.next() > 0 && buffer.next() > 0 && blocks.next() > 0);
            assertTrue(member.requests("/v1/blocks:allocate").size() > blocksBefore);
            List<FakeMember.Request> acquired = member.requests("/v1/workers:acquire");
            assertEquals(2, acquired.size());
            assertNotEquals(nonce(acquired.get(0)), nonce(acquired.get(1)));
        }
    }

    private static String nonce(FakeMember.Request r) {
        return r.body().replaceAll(".*\"nonce\":\"([^\"]*)\".*", "$1");
    }
}
