package io.snowraft.internal.call;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.snowraft.client.Reason;
import io.snowraft.internal.http.Address;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The choice among members. */
class StandingTest {
    private static final Address FORMER = Address.parse("127.0.0.1:1");
    private static final Address OTHER = Address.parse("127.0.0.1:2");
    private static final Duration SUSPICIOUS = Duration.ofSeconds(4);

    private final Standing standing = new Standing(List.of(FORMER, OTHER));

    /** A member refuses a call for the leader, and then answers a call that any member serves. */
    private void knowsNoLeader(Address member) {
        Failure refusal = new Failure(Reason.NO_LEADER, "NO_LEADER", "", member.toString(), Duration.ZERO, true, false, false, false);
        standing.tried(member, refusal, Duration.ZERO, SUSPICIOUS);
        standing.tried(member, null, Duration.ZERO, SUSPICIOUS);
    }

    private void prefers(Address member) {
        for (int i = 0; i < 100; i++) {
            assertEquals(member, standing.take(Set.of(), true).member());
            standing.done(member);
        }
    }

    @Test
    void memberThatKnowsNoLeaderIsNotTakenForTheLeader() {
        standing.learn(List.of(), Set.of(FORMER, OTHER), FORMER);
        prefers(FORMER);
        knowsNoLeader(FORMER);
        prefers(OTHER);
        standing.learn(List.of(), Set.of(FORMER, OTHER), FORMER);
        prefers(FORMER);
        knowsNoLeader(OTHER); // may be behind
        prefers(FORMER);
    }

    @Test
    void memberThatKnowsNoLeaderIsCalledLastWhileNoneIsKnown() {
        knowsNoLeader(OTHER);
        prefers(FORMER);
    }
}
