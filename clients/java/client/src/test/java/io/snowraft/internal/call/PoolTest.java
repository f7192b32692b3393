package io.snowraft.internal.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.HttpConnection;
import io.snowraft.internal.http.Trust;
import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import io.snowraft.test.TlsPort;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Idle connections. */
class PoolTest {
    @Test
    void connectionWithAnUnaskedAnswerIsNotReused() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster())) {
            unaskedAnswer(member, Trust.clearText(false));
        }
    }

    @Test
    void securedConnectionWithAnUnaskedAnswerIsNotReused() throws Exception {
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), new FakeCluster())) {
            unaskedAnswer(member, Trust.of(TlsPort.pem("pinned"), ""));
        }
    }

    private static void unaskedAnswer(FakeMember member, Trust trust) throws Exception {
        Address address = Address.parse(member.address());
        Deadline deadline = Deadline.after(Duration.ofMinutes(5));
        Background background = new Background();
        Pool pool = new Pool(trust, background);
        try {
            HttpConnection connection = pool.open(address, deadline);
            for (int i = 0; i < 3; i++) {
                exchange(connection, deadline);
                pool.release(connection, true);
                assertSame(connection, pool.idle(address, true), "a quiet connection is reused");
            }
            pool.release(connection, true);
            member.send(FakeMember.ok("{}"));
            for (HttpConnection idle = connection; idle != null;) { // until the answer arrives
                assertTrue(!deadline.passed(), "the next request would read the answer");
                idle = pool.idle(address, false);
                if (idle != null) {
                    pool.release(idle, true);
                }
            }
        } finally {
            pool.close();
            background.close();
        }
    }

    private static void exchange(HttpConnection connection, Deadline deadline) throws IOException {
        assertEquals(200, connection.exchange("GET", "/v1/status", "", null, null, deadline).status());
    }
}
