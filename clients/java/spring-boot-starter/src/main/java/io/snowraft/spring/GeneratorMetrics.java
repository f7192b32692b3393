package io.snowraft.spring;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.snowraft.client.Generator;
import java.util.Map;

/** Shows the states of generators, by the names of their beans. */
record GeneratorMetrics(Map<String, Generator> generators) implements MeterBinder {
    @Override
    public void bindTo(MeterRegistry registry) {
        generators.forEach((name, generator) -> {
            Gauge.builder("snowraft.generator.issuing", generator, g -> g.problem().isEmpty() ? 1 : 0)
                    .description("1 while the generator issues IDs, otherwise 0").tag("generator", name).register(registry);
            Gauge.builder("snowraft.generator.workers", generator, g -> GeneratorState.of(g).workers().size())
                    .description("Workers that the generator holds").tag("generator", name).register(registry);
            Gauge.builder("snowraft.generator.window.end.timestamp", generator, GeneratorMetrics::windowEnd).baseUnit("seconds")
                    .description("Unix time until which the generator can issue without members; NaN without a window").tag("generator", name)
                    .register(registry);
        });
    }

    private static double windowEnd(Generator generator) {
        return GeneratorState.of(generator).windowEnd().map(end -> end.toEpochMilli() / 1e3).orElse(Double.NaN);
    }
}
