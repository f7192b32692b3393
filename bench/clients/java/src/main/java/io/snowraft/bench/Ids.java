package io.snowraft.bench;

import io.snowraft.client.Generator;
import io.snowraft.client.GeneratorOptions;
import io.snowraft.client.SnowraftClient;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** IDs that one thread takes one after the other, and the clock that each of them reads. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Ids {
    private static final long EPOCH = 1_735_689_600_000L; // 2025-01-01
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** A generator that has a window of a layout. */
    @State(Scope.Benchmark)
    public abstract static class Leased {
        /** HTTP address of a member. */
        @Param("127.0.0.1:7701")
        public String address;

        private SnowraftClient client;
        private Generator generator;

        abstract String layout();

        @Setup
        public void open() {
            client = SnowraftClient.connect(address);
            generator = client.generator(GeneratorOptions.defaults().withHolder("bench").withLayout(layout()));
            generator.ready(PATIENCE);
        }

        @TearDown
        public void close() {
            client.close();
        }
    }

    /** The layout {@code wide} has 22 bits for the sequence, so that it does not limit the rate. */
    public static class Wide extends Leased {
        @Override
        String layout() {
            return "wide";
        }
    }

    /** The layout {@code default} has 4,096 IDs per millisecond. */
    public static class Usual extends Leased {
        @Override
        String layout() {
            return "default";
        }
    }

    /** CosId's generator with its default layout, and with the bits of the layout {@code wide}. */
    @State(Scope.Benchmark)
    public static class Cosid {
        private final MillisecondSnowflakeId usual = new MillisecondSnowflakeId(1);
        private final MillisecondSnowflakeId wide = new MillisecondSnowflakeId(EPOCH, 38, 3, 22, 1);
    }

    @Benchmark
    public long clock() {
        return System.currentTimeMillis();
    }

    @Benchmark
    public long wide(Wide leased) {
        return ((Leased) leased).generator.next();
    }

    @Benchmark
    public long usual(Usual leased) {
        return ((Leased) leased).generator.next();
    }

    @Benchmark
    public long cosidWide(Cosid cosid) {
        return cosid.wide.generate();
    }

    @Benchmark
    public long cosidUsual(Cosid cosid) {
        return cosid.usual.generate();
    }

    @Benchmark
    public UUID uuid4() {
        return UUID.randomUUID();
    }
}
