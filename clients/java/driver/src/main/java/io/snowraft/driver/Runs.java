package io.snowraft.driver;

import io.snowraft.client.SnowraftException;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Runs that issue many IDs in several threads, into a file. */
final class Runs {
    private final Operations objects;
    private final Map<Long, AtomicBoolean> stops = new ConcurrentHashMap<>();

    Runs(Operations objects) {
        this.objects = objects;
    }

    /** Stops a run. */
    void stop(long run) {
        stops.computeIfAbsent(run, r -> new AtomicBoolean()).set(true);
    }

    void stopAll() {
        stops.values().forEach(s -> s.set(true));
    }

    /** Runs until the count, the time or a stop is reached. */
    Map<String, Object> run(long id, Args args) throws IOException, InterruptedException {
        AtomicBoolean stop = stops.computeIfAbsent(id, r -> new AtomicBoolean());
        if (args.text("kind").equals("futures")) {
            var sequence = Operations.get(objects.clients, args, "name").sequence(args.text("sequence"));
            var chains = new Chains(sequence, args.count("threads", 1), args.number("count", Long.MAX_VALUE), args.number("ms", 3_600_000), stop);
            Map<String, Object> ok = chains.run(Path.of(args.text("file")));
            stops.remove(id);
            return ok;
        }
        LongSupplier source = source(args);
        int threads = args.count("threads", 1);
        AtomicLong left = new AtomicLong(args.number("count", Long.MAX_VALUE));
        long until = System.nanoTime() + args.number("ms", 3_600_000) * 1_000_000;
        Path file = Path.of(args.text("file"));
        Map<String, Long> errors = new ConcurrentHashMap<>();
        AtomicReference<SnowraftException> last = new AtomicReference<>();
        AtomicReference<IOException> broken = new AtomicReference<>();
        boolean virtual = args.flag("virtual");
        ThreadFactory factory = virtual ? VirtualThreads.factory() : Thread::new;
        List<Thread> all = new ArrayList<>();
        List<Path> parts = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Path part = Path.of(file + "." + i);
            parts.add(part);
            all.add(factory.newThread(() -> {
                try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(part), 1 << 13))) {
                    while (!stop.get() && System.nanoTime() < until && left.getAndDecrement() > 0) {
                        issue(source, out, left, stop, errors, last);
                    }
                } catch (IOException e) {
                    broken.set(e);
                }
            }));
        }
        long pinned = 0;
        if (virtual) {
            pinned = VirtualThreads.runAll(all);
        } else {
            runAll(all);
        }
        stops.remove(id);
        if (broken.get() != null) {
            throw broken.get();
        }
        Map<String, Object> ok = new LinkedHashMap<>();
        ok.put("issued", join(parts, file));
        ok.put("errors", errors);
        if (virtual) {
            ok.put("pinned", pinned);
        }
        if (last.get() != null) {
            ok.put("last_error", last.get().reason() + ": " + last.get().getMessage());
        }
        return ok;
    }

    /** Starts threads and waits for their end. */
    static void runAll(List<Thread> threads) throws InterruptedException {
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Issues one ID. After an error that is not repeatable, the run ends. */
    private static void issue(LongSupplier source, DataOutputStream out, AtomicLong left, AtomicBoolean stop, Map<String, Long> errors,
            AtomicReference<SnowraftException> last) throws IOException {
        try {
            out.writeLong(source.getAsLong());
        } catch (SnowraftException e) {
            left.incrementAndGet();
            errors.merge(e.reason().name(), 1L, Long::sum);
            last.set(e);
            if (!(e instanceof SnowraftException.Repeatable)) {
                stop.set(true);
            }
            LockSupport.parkNanos(1_000_000); // a refusal without a wait must not fill the processor
        }
    }

    private static long join(List<Path> parts, Path file) throws IOException {
        try (var out = Files.newOutputStream(file)) {
            for (Path part : parts) {
                Files.copy(part, out);
                Files.delete(part);
            }
        }
        return Files.size(file) / Long.BYTES;
    }

    private LongSupplier source(Args args) {
        String kind = args.text("kind");
        return switch (kind) {
            case "generator" -> Operations.get(objects.generators, args, "name")::next;
            case "buffer" -> Operations.get(objects.buffers, args, "name")::next;
            case "blocks" -> Operations.get(objects.blocks, args, "name")::next;
            case "ids" -> Operations.get(objects.clients, args, "name").ids(args.text("layout", "default"))::next;
            case "numbers" -> Operations.get(objects.clients, args, "name").sequence(args.text("sequence"))::next;
            default -> throw new IllegalArgumentException("kind \"" + kind + "\": expected generator, ids, buffer, numbers or blocks");
        };
    }
}
