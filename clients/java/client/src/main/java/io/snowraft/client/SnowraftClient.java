package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.Json;
import io.snowraft.internal.json.JsonObject;
import io.snowraft.layout.FieldBits;
import io.snowraft.layout.Layout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Calls the members of a Snowraft cluster over HTTP. One client is enough for a process: its methods are safe for concurrent use, and
 * friendly to virtual threads. It learns the addresses of all members, chooses among them, and repeats a failed call at another member
 * where that does no harm.
 *
 * <p>The methods take at most the client's timeout and throw a {@link SnowraftException}. Nothing starts before the first call, and all
 * threads are daemons.
 */
public final class SnowraftClient implements AutoCloseable {
    /** The version of the client. */
    public static final String VERSION = "0.1.0";


    private final Caller caller;
    private final Clock clock;
    private final ClientListener listener;
    private final System.Logger logger; // null: silent
    private final Map<String, Ids> layouts = new ConcurrentHashMap<>();
    private final Map<String, Sequence> sequences = new ConcurrentHashMap<>();
    private final Set<Suspendable> opened = ConcurrentHashMap.newKeySet(); // generators, buffers and blocks
    private final Ids standard;
    private final Object checkpoint; // the resource of CRaC, which the platform holds weakly; null without CRaC

    SnowraftClient(Caller caller, Clock clock, ClientListener listener, System.Logger logger) {
        this.caller = caller;
        this.clock = clock;
        this.listener = listener;
        this.logger = logger;
        this.standard = ids("default");
        this.checkpoint = Checkpoint.register(this::suspend, this::resume);
    }

    /** Returns a client of the cluster that the members at these addresses of HTTP ports belong to; see {@link ClientBuilder}. */
    public static SnowraftClient connect(String... addresses) {
        return builder().addresses(addresses).build();
    }

    /** Returns a builder of a client. */
    public static ClientBuilder builder() {
        return new ClientBuilder();
    }

    /** Returns one ID of the layout {@code default}; see {@link Ids#next()}. */
    public long nextId() {
        return standard.next();
    }

    /** Returns IDs of the layout {@code default}, 1 to 1,000,000, in no order. */
    public long[] nextIds(int count) {
        return standard.next(count);
    }

    /** Returns one ID of the layout {@code default}, without waiting for it. */
    public CompletableFuture<Long> nextIdAsync() {
        return standard.nextAsync();
    }

    /** Returns one ID of the layout {@code default} as a UUID of version 7. */
    public UUID nextUuid() {
        return standard.uuid();
    }

    /** Returns the issuer of a layout's IDs. The client keeps a little memory for each name. */
    public Ids ids(String layout) {
        return layouts.computeIfAbsent(layout, name -> new Ids(caller, name));
    }

    /** Returns the issuer of the numbers of a sequence, which must exist when numbers are requested. */
    public Sequence sequence(String name) {
        return sequences.computeIfAbsent(name, n -> new Sequence(caller, n));
    }

    /** Returns a generator with the default options. */
    public Generator generator() {
        return generator(GeneratorOptions.defaults());
    }

    /** Returns a generator, which requests its first window in the background. Close it before the client. */
    public Generator generator(GeneratorOptions options) {
        Generator generator = new Generator(caller, options, clock, new GeneratorEvents(options.layout(), listener, logger), opened::remove);
        opened.add(generator);
        generator.start();
        return generator;
    }

    /** Returns a buffer of IDs of the layout {@code default}. */
    public Buffer buffer(int size) {
        return buffer(BufferOptions.defaults().withSize(size));
    }

    /** Returns a buffer, which begins to fill in the background. */
    public Buffer buffer(BufferOptions options) {
        Buffer buffer = new Buffer(caller, ids(options.layout()), options, opened::remove);
        opened.add(buffer);
        buffer.start();
        return buffer;
    }

    /** Returns the blocks of a relaxed sequence, whose first block has 100 numbers. */
    public Blocks blocks(String sequence) {
        return blocks(sequence, 100);
    }

    /** Returns the blocks of a relaxed sequence. Nothing is requested before the first use. */
    public Blocks blocks(String sequence, int firstSize) {
        Blocks blocks = new Blocks(caller, sequence, firstSize, clock, opened::remove);
        opened.add(blocks);
        blocks.start();
        return blocks;
    }

    /** Creates a sequence and returns it. The same sequence, if it exists, is returned as it is. */
    public SequenceInfo createSequence(String name, SequenceSpec spec) {
        return SequenceInfo.changed(caller.call(Request.of(Method.CREATE_SEQUENCE, "/v1/sequences", spec.json(name))));
    }

    /** Returns a sequence, as the leader has it at some moment after the call began. */
    public SequenceInfo getSequence(String name) {
        JsonObject answer = caller.call(Request.of(Method.GET_SEQUENCE, "/v1/sequences/" + Paths.query(name)));
        return Answers.read(answer, a -> SequenceInfo.of(a.object("sequence"), List.of()));
    }

    /** Returns the sequences whose names begin with a prefix, in the order of their names. */
    public List<SequenceInfo> listSequences(String prefix) {
        return Answers.list(caller, Method.LIST_SEQUENCES, "/v1/sequences?prefix=" + Paths.query(prefix) + "&", "sequences", s -> SequenceInfo.of(s, List.of()));
    }

    /**
     * Changes the settings of a sequence that are made in a specification, and returns the sequence.
     *
     * @param generation the generation that the sequence must have; otherwise the change fails with {@link Reason#GENERATION_MISMATCH}
     * @param force      whether to make the change even if numbers may repeat
     */
    public SequenceInfo updateSequence(String name, SequenceSpec spec, OptionalLong generation, boolean force) {
        String path = "/v1/sequences/" + Paths.query(name) + "?force=" + force + expected("&", generation);
        return SequenceInfo.changed(caller.call(new Request(Method.UPDATE_SEQUENCE, path, spec.json(name), Duration.ZERO, force)));
    }

    /** Deletes a sequence, and returns the members that did not acknowledge it in time. */
    public List<String> deleteSequence(String name) {
        return deleteSequence(name, OptionalLong.empty());
    }

    /**
     * Deletes a sequence, and returns the members that did not acknowledge it in time.
     *
     * @param generation the generation that the sequence must have; otherwise the call fails with {@link Reason#GENERATION_MISMATCH}
     */
    public List<String> deleteSequence(String name, OptionalLong generation) {
        String path = "/v1/sequences/" + Paths.query(name) + expected("?", generation);
        return Answers.read(caller.call(Request.of(Method.DELETE_SEQUENCE, path)), a -> a.strings("unreachedMembers"));
    }

    private static String expected(String separator, OptionalLong generation) {
        return generation.isPresent() ? separator + "expectedGeneration=" + Long.toUnsignedString(generation.getAsLong()) : "";
    }

    /** Creates a layout and returns it. Layouts never change; the same layout, if it exists, is returned. */
    public Layout createLayout(Layout layout) {
        List<Json> fields = new ArrayList<>();
        for (FieldBits f : layout.fields()) {
            fields.add(new Json().put("kind", f.field().toString()).put("bits", f.bits()));
        }
        Json body = new Json().put("name", layout.name()).put("fields", fields).put("unitMs", layout.unitMillis())
                .put("epochAtMs", layout.epochMillis()).putUnsigned("datacenter", layout.datacenter()).put("spread", layout.spread())
                .put("leaseOnly", layout.leaseOnly());
        return Answers.read(caller.call(Request.of(Method.CREATE_LAYOUT, "/v1/layouts", body)), a -> Answers.layout(a.object("layout")));
    }

    /** Returns a layout of the cluster. */
    public Layout getLayout(String name) {
        return Answers.read(caller.call(Request.of(Method.GET_LAYOUT, "/v1/layouts/" + Paths.query(name))), a -> Answers.layout(a.object("layout")));
    }

    /** Returns the layouts of the cluster, in the order of their names. */
    public List<Layout> listLayouts() {
        return Answers.list(caller, Method.LIST_LAYOUTS, "/v1/layouts?", "layouts", Answers::layout);
    }

    /** Waits until a member answers, for at most the given time. It issues no ID. */
    public void ready(Duration limit) {
        caller.call(Request.of(Method.LIST_MEMBERS, "/v1/members"), Deadline.after(limit));
    }

    /** Gives up all that a copy of this process must not have, before a checkpoint. */
    private void suspend() {
        opened.forEach(Suspendable::suspend);
        caller.suspend();
    }

    /** Continues after a checkpoint, or in a process that was restored from it. */
    private void resume() {
        caller.resume();
        opened.forEach(Suspendable::resume);
    }

    /** Closes the client, and the generators, buffers and blocks made from it, which return to the cluster what they hold. */
    @Override
    public void close() {
        opened.forEach(Suspendable::close);
        caller.close();
    }
}
