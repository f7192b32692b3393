package io.snowraft.internal.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.ClientListener;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Trust;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** The requests for the list of members. */
class MembersTest {
    private record Task(Runnable run, Duration delay) {
    }

    private final Queue<Task> tasks = new ArrayDeque<>(); // in the order in which they become due

    /** Carries the next task out, and checks the most time until it was due. */
    private void next(long seconds) {
        Task task = tasks.remove();
        long delay = task.delay.toMillis();
        assertTrue(delay <= seconds * 1000 && delay >= seconds * 750, delay + " ms, expected " + seconds + " s");
        task.run.run();
    }

    @Test
    void listIsRequestedSoonAfterABrokenConnection() throws Exception {
        try (FakeMember member = new FakeMember(r -> FakeMember.ok("{\"members\":[]}"))) {
            List<Address> seeds = List.of(Address.parse(member.address()));
            Trust trust = Trust.clearText(false);
            Caller caller = new Caller(seeds, trust, "", Duration.ofMinutes(5), new ClientListener() { });
            Members members = new Members(caller, new Standing(seeds), new Pool(trust, caller.background()), (r, d) -> tasks.add(new Task(r, d)), seeds);
            members.start();
            next(0);
            for (long seconds : new long[] {20, 40, 80, 160, 160}) {
                next(seconds);
            }
            members.changed();
            members.changed();
            Task quiet = tasks.remove();
            next(1);
            quiet.run.run(); // superseded
            for (long seconds : new long[] {10, 20}) {
                next(seconds);
            }
            assertEquals(1, tasks.size());
            caller.close();
        }
    }
}
