package io.snowraft.driver;

import io.snowraft.client.Blocks;
import io.snowraft.client.Buffer;
import io.snowraft.client.ClientBuilder;
import io.snowraft.client.Generator;
import io.snowraft.client.GeneratorOptions;
import io.snowraft.client.BufferOptions;
import io.snowraft.client.Ids;
import io.snowraft.client.LaneStatus;
import io.snowraft.client.NumberPeriod;
import io.snowraft.client.Numbers;
import io.snowraft.client.SequenceMode;
import io.snowraft.client.SequenceReset;
import io.snowraft.client.SequenceSpec;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;

/** The operations of the contract, and the objects that they name. */
final class Operations {
    private static final int READY_MS = 10_000;

    final Map<String, SnowraftClient> clients = new ConcurrentHashMap<>();
    final Map<String, Generator> generators = new ConcurrentHashMap<>();
    final Map<String, Buffer> buffers = new ConcurrentHashMap<>();
    final Map<String, Blocks> blocks = new ConcurrentHashMap<>();
    private final Map<String, SetClock> clocks = new ConcurrentHashMap<>();
    private final Runs runs = new Runs(this);

    /** Runs an operation, and puts its results into the answer. */
    void run(long id, String op, Args args, Map<String, Object> answer) throws IOException, InterruptedException {
        switch (op) {
            case "hello" -> answer.put("ok", hello());
            case "open" -> answer.put("ok", open(args));
            case "close" -> answer.put("ok", close(args));
            case "memory" -> answer.put("ok", memory());
            case "ids" -> answer.put("ok", ids(args));
            case "uuids" -> answer.put("ok", Map.of("uuids", client(args).ids("default").uuids(args.count("count", 1)).stream().map(UUID::toString).toList()));
            case "generator" -> answer.put("ok", generator(args));
            case "ready" -> {
                get(generators, args, "generator").ready(Duration.ofMillis(args.number("ready_ms", READY_MS)));
                answer.put("ok", Map.of());
            }
            case "next" -> next(args, answer);
            case "status" -> answer.put("ok", status(get(generators, args, "generator")));
            case "buffer" -> answer.put("ok", buffer(args));
            case "take" -> take(args, answer);
            case "create" -> answer.put("ok", create(args));
            case "sequence", "update", "set_next", "decode_text", "delete", "list", "last", "create_layout", "layout" ->
                answer.put("ok", Management.perform(op, client(args), args));
            case "reserve", "confirm", "void", "reconcile" ->
                answer.put("ok", Documents.perform(op, client(args).sequence(args.text("sequence")), args));
            case "numbers" -> answer.put("ok", numbers(args));
            case "blocks" -> {
                blocks.put(args.text("blocks"), client(args).blocks(args.text("sequence"), args.count("size", 100)));
                answer.put("ok", Map.of());
            }
            case "draw" -> answer.put("ok", draw(args));
            case "run" -> answer.put("ok", runs.run(id, args));
            case "stop" -> {
                runs.stop(args.number("run", 0));
                answer.put("ok", Map.of());
            }
            case "clock" -> {
                clocks.computeIfAbsent(args.text("clock"), n -> new SetClock()).set(args.number("wall_ms", 0), args.number("monotonic_ms", 0));
                answer.put("ok", Map.of());
            }
            case "decode" -> answer.put("ok", Offline.decode(args));
            case "encode" -> answer.put("ok", Offline.encode(args));
            default -> throw new UnsupportedOperationException("operation " + op);
        }
    }

    private static Map<String, Object> hello() {
        List<String> features = new ArrayList<>(List.of("direct", "generator", "buffer", "strict", "relaxed", "offline", "clock", "uuid"));
        if (VirtualThreads.present()) {
            features.add("virtual");
        }
        return Map.of("client", "java", "version", SnowraftClient.VERSION, "runtime", "java " + Runtime.version(),
                "features", features);
    }

    private Map<String, Object> open(Args args) throws IOException {
        ClientBuilder builder = SnowraftClient.builder().addresses(args.texts("addresses").toArray(String[]::new));
        if (args.has("token")) {
            builder.token(args.text("token"));
        }
        if (args.has("pin")) {
            builder.pin(args.text("pin"));
        }
        if (args.has("ca")) {
            builder.ca(Path.of(args.text("ca")));
        }
        if (args.has("timeout_ms")) {
            builder.timeout(Duration.ofMillis(args.number("timeout_ms", 0)));
        }
        clients.put(args.text("client"), builder.build());
        return Map.of();
    }

    private Map<String, Object> close(Args args) {
        if (args.has("generator")) {
            get(generators, args, "generator").close();
            return Map.of();
        } else if (args.has("buffer")) {
            get(buffers, args, "buffer").close();
            return Map.of();
        } else if (args.has("blocks")) {
            get(blocks, args, "blocks").close();
            return Map.of();
        }
        String name = args.text("client");
        SnowraftClient client = clients.get(name);
        if (client != null) {
            client.close();
        }
        return Map.of();
    }

    /** Returns the bytes of the heap that are in use after a garbage collection. */
    private static Map<String, Object> memory() {
        System.gc();
        return Map.of("used", Long.toString(Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()));
    }

    SnowraftClient client(Args args) {
        return get(clients, args, "client");
    }

    static <T> T get(Map<String, T> all, Args args, String kind) {
        T object = all.get(args.text(kind));
        if (object == null) {
            throw new IllegalArgumentException("unknown " + kind + " \"" + args.text(kind) + "\"");
        }
        return object;
    }

    private Map<String, Object> ids(Args args) {
        Ids ids = client(args).ids(args.text("layout", "default"));
        int count = args.count("count", 1);
        return Map.of("ids", texts(args.has("after") ? LongStream.generate(ids.session(args.number("after", 0))::next).limit(count).toArray() : ids.next(count)));
    }

    private Map<String, Object> generator(Args args) {
        GeneratorOptions options = GeneratorOptions.defaults().withLayout(args.text("layout", "default")).withLanes(args.count("lanes", 1));
        if (args.has("clock")) {
            options = options.withClock(get(clocks, args, "clock"));
        }
        Generator generator = client(args).generator(options);
        generators.put(args.text("generator"), generator);
        generator.ready(Duration.ofMillis(args.number("ready_ms", READY_MS)));
        return Map.of();
    }

    private void next(Args args, Map<String, Object> answer) {
        Generator generator = get(generators, args, "generator");
        LongSupplier next = args.has("after") ? () -> generator.nextAfter(args.number("after", 0)) : generator::next;
        some(args.count("count", 1), next, answer);
    }

    private void take(Args args, Map<String, Object> answer) {
        Buffer buffer = get(buffers, args, "buffer");
        some(args.count("count", 1), buffer::next, answer);
    }

    /** Issues IDs one by one. An error after some of them comes with these. */
    private static void some(int count, LongSupplier source, Map<String, Object> answer) {
        List<String> ids = new ArrayList<>();
        try {
            while (ids.size() < count) {
                ids.add(Long.toString(source.getAsLong()));
            }
            answer.put("ok", Map.of("ids", ids));
        } catch (SnowraftException e) {
            answer.put("error", Driver.error(e));
            answer.put("ids", ids);
        }
    }

    private static Map<String, Object> status(Generator generator) {
        Map<String, Object> ok = new LinkedHashMap<>();
        var problem = generator.problem();
        ok.put("state", problem.isEmpty() ? "issuing" : "refusing");
        problem.ifPresent(p -> ok.put("reason", p.reason().name()));
        List<Object> workers = new ArrayList<>();
        for (LaneStatus lane : generator.lanes()) {
            if (lane.token() != 0) {
                Map<String, Object> worker = new LinkedHashMap<>();
                worker.put("worker", Long.toUnsignedString(lane.worker()));
                worker.put("from_tick", Long.toString(lane.fromTick()));
                worker.put("until_tick", Long.toString(lane.untilTick()));
                lane.lastTick().ifPresent(tick -> worker.put("last_tick", Long.toString(tick)));
                workers.add(worker);
            }
        }
        ok.put("workers", workers);
        return ok;
    }

    private Map<String, Object> buffer(Args args) {
        BufferOptions options = BufferOptions.defaults().withLayout(args.text("layout", "default")).withSize(args.count("size", 1000));
        buffers.put(args.text("buffer"), client(args).buffer(options));
        return Map.of();
    }

    private Map<String, Object> create(Args args) {
        SequenceSpec spec = SequenceSpec.of().mode(SequenceMode.valueOf(args.text("mode", "strict").toUpperCase(Locale.ROOT)));
        spec = args.has("start") ? spec.start(args.number("start", 0)) : spec;
        spec = args.has("step") ? spec.increment(args.number("step", 0)) : spec;
        spec = args.has("format") ? spec.format(args.text("format")) : spec;
        spec = args.has("reset") ? spec.reset(SequenceReset.valueOf(args.text("reset").toUpperCase(Locale.ROOT))) : spec;
        spec = args.has("year_starts") ? spec.yearStarts(args.text("year_starts")) : spec;
        spec = args.has("late_ms") ? spec.late(Duration.ofMillis(args.number("late_ms", 0))) : spec;
        spec = args.has("zone") ? spec.timeZone(args.text("zone")) : spec;
        client(args).createSequence(args.text("sequence"), spec);
        return Map.of();
    }

    private Map<String, Object> numbers(Args args) {
        int count = args.count("count", 1);
        var sequence = client(args).sequence(args.text("sequence"));
        Numbers n;
        if (args.has("period")) {
            NumberPeriod period = NumberPeriod.of(args.text("period")).requestId(args.text("request_id", ""));
            n = sequence.takeOf(args.has("from") ? period.from(args.number("from", 0)) : period, count);
        } else {
            n = args.has("request_id") ? sequence.takeOnce(args.text("request_id"), count) : sequence.take(count);
        }
        Map<String, Object> ok = new LinkedHashMap<>();
        ok.put("first", Long.toString(n.first()));
        ok.put("count", (long) n.count());
        ok.put("step", Long.toString(n.increment()));
        if (!n.texts().isEmpty()) {
            ok.put("texts", n.texts());
        }
        if (!n.period().isEmpty()) {
            ok.put("period", n.period());
        }
        return ok;
    }

    private Map<String, Object> draw(Args args) {
        Numbers n = get(blocks, args, "blocks").take(args.count("count", 1));
        return Map.of("numbers", n.stream().mapToObj(Long::toString).toList());
    }

    private static List<String> texts(long[] ids) {
        return LongStream.of(ids).mapToObj(Long::toString).toList();
    }

    /** Closes all clients. */
    void close() {
        runs.stopAll();
        clients.values().forEach(SnowraftClient::close);
    }
}
