package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import io.snowraft.layout.Field;
import io.snowraft.layout.FieldBits;
import io.snowraft.layout.Layout;
import java.util.ArrayList;
import java.util.List;

/** Reads the answers of members, and checks the arguments of calls. */
final class Answers {
    /** The greatest number of IDs or numbers in one call. */
    static final int MAX_COUNT = 1_000_000;

    /** The greatest number of entries in a page. */
    private static final int PAGE = 1000;
    /** Bounds a list of a member that never ends it. */
    private static final int MOST_PAGES = 10_000;

    private Answers() {
    }

    /** Reads a part of an answer. */
    interface Reader<T> {
        T read(JsonObject answer) throws JsonException;
    }

    /** Reads an answer, and turns a malformed one into an exception for callers. */
    static <T> T read(JsonObject answer, Reader<T> reader) {
        try {
            return reader.read(answer);
        } catch (JsonException | IllegalArgumentException e) {
            throw SnowraftException.malformed(e.getMessage());
        }
    }

    static SnowraftException invalid(String message) {
        return SnowraftException.unsent(Reason.INVALID_ARGUMENT, message);
    }

    static SnowraftException closed(String what) {
        return SnowraftException.unsent(Reason.CLOSED, "the " + what + " is closed");
    }

    static int checkCount(int count, int most, String of) {
        if (count < 1 || count > most) {
            throw invalid("count of " + of + " " + count + ": expected 1 to " + most);
        }
        return count;
    }

    /** Reads the objects in a list of an answer. */
    static <T> List<T> readAll(JsonObject answer, String field, Reader<T> read) {
        List<T> all = new ArrayList<>();
        for (JsonObject o : read(answer, a -> a.objects(field))) {
            all.add(read(o, read));
        }
        return all;
    }

    /** Requests a list, page by page. The path ends where the next parameter of its query begins. */
    static <T> List<T> list(Caller caller, Method method, String path, String field, Reader<T> read) {
        List<T> all = new ArrayList<>();
        String token = "";
        for (int page = 0; page < MOST_PAGES; page++) {
            JsonObject answer = caller.call(Request.of(method, path + "pageSize=" + PAGE + "&pageToken=" + Paths.query(token)));
            all.addAll(readAll(answer, field, read));
            String next = read(answer, a -> a.string("nextPageToken"));
            if (next.isEmpty()) {
                return all;
            }
            if (next.equals(token)) {
                break;
            }
            token = next;
        }
        throw SnowraftException.malformed("a list that does not end");
    }

    static Layout layout(JsonObject layout) throws JsonException {
        List<FieldBits> fields = new ArrayList<>();
        for (JsonObject f : layout.objects("fields")) {
            fields.add(new FieldBits(Field.parse(f.string("kind")), f.count("bits")));
        }
        return new Layout(layout.string("name"), fields, layout.int64("unitMs"), 0, layout.int64("epochAtMs"), layout.uint64("datacenter"),
                layout.int64("spread"), layout.bool("leaseOnly"));
    }
}
