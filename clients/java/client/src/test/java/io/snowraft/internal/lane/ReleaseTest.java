package io.snowraft.internal.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.snowraft.client.ClientListener;
import io.snowraft.client.Clock;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.call.Caller;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.Trust;
import io.snowraft.layout.Layout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Refusals of a release. */
class ReleaseTest {
    /** Returns the reasons for which a lane that closes reports its worker as not released. */
    private static List<Reason> notReleased(Reason refusal) {
        Layout layout = Layout.preset("default");
        List<Reason> reasons = new ArrayList<>();
        Granter granter = new Granter() {
            @Override
            public long drawExtension() {
                return 1;
            }

            @Override
            public Grant acquire(String holder, long wall, long window, Deadline deadline) {
                return new Grant(1, 1, layout.tickAt(wall), layout.tickAt(wall + window), wall, window);
            }

            @Override
            public Grant extend(Lease held, long until, long extension, long wall, long window, Deadline deadline) {
                throw new AssertionError("the window has just begun");
            }

            @Override
            public void release(Lease held, long next, Deadline deadline) {
                throw SnowraftException.unsent(refusal, "refused");
            }
        };
        Clock still = new Clock() {
            @Override
            public long wallMillis() {
                return 1_800_000_000_000L;
            }

            @Override
            public long monotonicMillis() {
                return 0;
            }
        };
        LaneEvents events = new NoEvents() {
            @Override
            public void notReleased(int lane, long worker, SnowraftException failure) {
                reasons.add(failure.reason());
            }
        };
        Caller unused = new Caller(List.of(Address.parse("127.0.0.1:1")), Trust.clearText(false), "", Duration.ofSeconds(1), new ClientListener() { });
        Issuer issuer = new Issuer(layout, "test", 1, still, unused, granter, events);
        issuer.lane(0).step();
        assertEquals(1, issuer.lane(0).state().token());
        issuer.close(Duration.ofSeconds(1));
        issuer.lane(0).finish();
        return reasons;
    }

    @Test
    void workerThatTheClusterHoldsNoLongerNeedsNoRelease() {
        assertEquals(List.of(), notReleased(Reason.WINDOW_MISMATCH));
        assertEquals(List.of(Reason.TIMEOUT), notReleased(Reason.TIMEOUT));
    }
}
