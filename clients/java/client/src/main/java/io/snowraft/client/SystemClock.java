package io.snowraft.client;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/** The clock of the system. */
enum SystemClock implements Clock {
    INSTANCE;

    /** The time since the boot in seconds, which goes on during a suspension. Only Linux has this file, and needs it. */
    private static final Path UPTIME = Path.of("/proc/uptime");
    /** The greatest time for which a reading of both clocks is exact enough. */
    private static final long EXACT_MILLIS = 5;

    @Override
    public long wallMillis() {
        return System.currentTimeMillis();
    }

    @Override
    public long monotonicMillis() {
        return System.nanoTime() / 1_000_000;
    }

    @Override
    public OptionalLong suspendedMillis() {
        try {
            long before = monotonicMillis();
            String up = Files.readString(UPTIME);
            long after = monotonicMillis();
            if (after - before > EXACT_MILLIS) {
                return OptionalLong.empty();
            }
            return OptionalLong.of(new BigDecimal(up.split(" ")[0]).movePointRight(3).longValue() - after);
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }
}
