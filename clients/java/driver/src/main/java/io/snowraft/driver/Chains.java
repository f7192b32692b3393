package io.snowraft.driver;

import io.snowraft.client.Sequence;
import io.snowraft.client.SnowraftException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Callers that request numbers of a sequence through futures, each the next one once it has the number before. An error ends a caller. */
final class Chains {
    private final Sequence sequence;
    private final AtomicBoolean stop;
    private final AtomicLong left;
    private final long until;
    private final Map<String, Long> errors = new ConcurrentHashMap<>();
    private final CountDownLatch running;

    Chains(Sequence sequence, int callers, long count, long ms, AtomicBoolean stop) {
        this.sequence = sequence;
        this.stop = stop;
        left = new AtomicLong(count);
        until = System.nanoTime() + ms * 1_000_000;
        running = new CountDownLatch(callers);
    }

    /** Runs until the count, the time or a stop is reached. */
    Map<String, Object> run(Path file) throws IOException, InterruptedException {
        List<List<Long>> all = new ArrayList<>();
        for (long i = running.getCount(); i > 0; i--) {
            List<Long> numbers = new ArrayList<>();
            all.add(numbers);
            request(numbers);
        }
        running.await();
        int issued = 0;
        try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (List<Long> numbers : all) {
                ByteBuffer bytes = ByteBuffer.allocate(numbers.size() * Long.BYTES);
                numbers.forEach(bytes::putLong);
                out.write(bytes.flip());
                issued += numbers.size();
            }
        }
        return Map.of("issued", issued, "errors", errors);
    }

    private void request(List<Long> numbers) {
        if (stop.get() || System.nanoTime() >= until || left.getAndDecrement() <= 0) {
            running.countDown();
            return;
        }
        sequence.nextAsync().whenComplete((number, error) -> {
            if (error != null) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                errors.merge(cause instanceof SnowraftException e ? e.reason().name() : cause.toString(), 1L, Long::sum);
                running.countDown();
                return;
            }
            numbers.add(number);
            request(numbers);
        });
    }
}
