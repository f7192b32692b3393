package io.snowraft.dev;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/** Waits in tests. */
public final class Until {
    private static final Duration PAUSE = Duration.ofMillis(20);

    private Until() {
    }

    /** Waits until a condition holds, without a limit: the limit of the whole test run ends it. */
    public static void holds(Callable<Boolean> condition) {
        try {
            while (!condition.call()) {
                LockSupport.parkNanos(PAUSE.toNanos());
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
