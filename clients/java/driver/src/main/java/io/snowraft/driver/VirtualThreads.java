package io.snowraft.driver;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;

/** Virtual threads, which this program finds at run time: it also runs on Java 17, which does not have them. */
final class VirtualThreads {
    private static final String PINNED = "jdk.VirtualThreadPinned";

    private VirtualThreads() {
    }

    static boolean present() {
        return Runtime.version().feature() >= 21;
    }

    /** Returns a factory of virtual threads that are not started. */
    static ThreadFactory factory() {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            return (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        } catch (ReflectiveOperationException e) {
            throw new UnsupportedOperationException("virtual threads", e instanceof InvocationTargetException i ? i.getCause() : e);
        }
    }

    /** Starts threads, waits for their end, and returns how often one of them waited without leaving its carrier. */
    static long runAll(List<Thread> threads) throws IOException, InterruptedException {
        Path file = Files.createTempFile("pinned", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(PINNED).withThreshold(Duration.ZERO).withStackTrace();
            recording.start();
            Runs.runAll(threads);
            recording.stop();
            recording.dump(file);
            var pinned = RecordingFile.readAllEvents(file).stream().filter(e -> e.getEventType().getName().equals(PINNED)).toList();
            pinned.stream().findFirst().ifPresent(System.err::println);
            return pinned.size();
        } finally {
            Files.delete(file);
        }
    }
}
