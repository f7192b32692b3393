package io.snowraft.spring;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.snowraft.client.ClientListener;
import io.snowraft.client.SnowraftException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Counts the events of the client, also before there is a registry. */
final class ClientMetrics implements ClientListener, MeterBinder {
    private final Calls succeeded = new Calls();
    private final Calls failed = new Calls();
    private final LongAdder acquired = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final LongAdder extended = new LongAdder();
    private final LongAdder notGranted = new LongAdder();

    private record Calls(LongAdder count, LongAdder nanos) {
        Calls() {
            this(new LongAdder(), new LongAdder());
        }
    }

    @Override
    public void tried(String method, String member, Duration took, SnowraftException failure) {
        Calls calls = failure == null ? succeeded : failed;
        calls.count.increment();
        calls.nanos.add(took.toNanos());
    }

    @Override
    public void workerAcquired(String layout, int lane, long worker) {
        acquired.increment();
    }

    @Override
    public void workerLost(String layout, int lane, long worker) {
        lost.increment();
    }

    @Override
    public void windowExtended(String layout, int lane, long worker, long untilMillis) {
        extended.increment();
    }

    @Override
    public void windowNotGranted(String layout, int lane, SnowraftException failure) {
        notGranted.increment();
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        bind(registry, "success", succeeded);
        bind(registry, "error", failed);
        bind(registry, "snowraft.workers.acquired", "Workers that generators acquired", acquired);
        bind(registry, "snowraft.workers.lost", "Workers whose windows the cluster refused to extend", lost);
        bind(registry, "snowraft.windows.extended", "Extensions of windows", extended);
        bind(registry, "snowraft.windows.failures", "Times at which requests for windows began to fail", notGranted);
    }

    private static void bind(MeterRegistry registry, String outcome, Calls calls) {
        FunctionTimer.builder("snowraft.calls", calls, c -> c.count.sum(), c -> c.nanos.sum(), TimeUnit.NANOSECONDS)
                .description("Tries of calls to members").tag("outcome", outcome).register(registry);
    }

    private static void bind(MeterRegistry registry, String name, String description, LongAdder events) {
        FunctionCounter.builder(name, events, LongAdder::sum).description(description).register(registry);
    }
}
