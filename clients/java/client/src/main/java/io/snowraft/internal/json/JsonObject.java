package io.snowraft.internal.json;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** A JSON object that a member sent. Each getter returns the default of its type if the member is absent or null. */
public final class JsonObject {
    private static final JsonObject EMPTY = new JsonObject(Map.of());

    private final Map<String, Object> members;

    private JsonObject(Map<String, Object> members) {
        this.members = members;
    }

    /** Parses a document that is an object. */
    public static JsonObject parse(byte[] document) throws JsonException {
        return of(JsonParser.parse(document), "the document");
    }

    @SuppressWarnings("unchecked") // the parser makes no other maps
    private static JsonObject of(Object value, String what) throws JsonException {
        if (value instanceof Map<?, ?> map) {
            return new JsonObject((Map<String, Object>) map);
        }
        throw new JsonException(what + " is not an object");
    }

    /** Reports whether the object has a member that is not null. */
    public boolean has(String name) {
        return members.get(name) != null;
    }

    /** Returns a string, or the empty string. */
    public String string(String name) throws JsonException {
        Object value = members.get(name);
        if (value == null) {
            return "";
        }
        if (value instanceof String s) {
            return s;
        }
        throw wrong(name, "a string");
    }

    /** Returns a signed 64-bit integer, which may be a string or a number, or 0. */
    public long int64(String name) throws JsonException {
        String digits = digits(name);
        try {
            return digits == null ? 0 : Long.parseLong(digits);
        } catch (NumberFormatException e) {
            throw wrong(name, "a 64-bit integer");
        }
    }

    /** Returns an unsigned 64-bit integer, which may be a string or a number, or 0. */
    public long uint64(String name) throws JsonException {
        String digits = digits(name);
        try {
            return digits == null ? 0 : Long.parseUnsignedLong(digits);
        } catch (NumberFormatException e) {
            throw wrong(name, "an unsigned 64-bit integer");
        }
    }

    /** Returns an integer of 0 to 2^31-1, or 0. */
    public int count(String name) throws JsonException {
        long value = int64(name);
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw wrong(name, "an integer of 0 to 2147483647");
        }
        return (int) value;
    }

    private String digits(String name) throws JsonException {
        Object value = members.get(name);
        if (value == null) {
            return null;
        }
        String text = value instanceof JsonNumber n ? n.text() : value instanceof String s ? s : "";
        if (text.isEmpty() || text.length() > 20 || !text.chars().allMatch(c -> c >= '0' && c <= '9' || c == '-')) {
            throw wrong(name, "an integer");
        }
        return text;
    }

    /** Returns a boolean, or false. */
    public boolean bool(String name) throws JsonException {
        Object value = members.get(name);
        if (value == null) {
            return false;
        }
        if (value instanceof Boolean b) {
            return b;
        }
        throw wrong(name, "true or false");
    }

    /** Returns bytes in base64, or no bytes. */
    public byte[] bytes(String name) throws JsonException {
        try {
            return Base64.getDecoder().decode(string(name));
        } catch (IllegalArgumentException e) {
            throw wrong(name, "base64");
        }
    }

    /** Returns an object, or an empty one. */
    public JsonObject object(String name) throws JsonException {
        Object value = members.get(name);
        return value == null ? EMPTY : of(value, Json.quote(name));
    }

    /** Returns a list of objects, or an empty list. */
    public List<JsonObject> objects(String name) throws JsonException {
        List<JsonObject> objects = new ArrayList<>();
        for (Object value : list(name)) {
            objects.add(of(value, "an element of " + Json.quote(name)));
        }
        return objects;
    }

    /** Returns a list of strings, or an empty list. */
    public List<String> strings(String name) throws JsonException {
        List<String> strings = new ArrayList<>();
        for (Object value : list(name)) {
            if (!(value instanceof String s)) {
                throw wrong(name, "a list of strings");
            }
            strings.add(s);
        }
        return strings;
    }

    private List<?> list(String name) throws JsonException {
        Object value = members.get(name);
        if (value == null) {
            return List.of();
        }
        if (value instanceof List<?> list) {
            return list;
        }
        throw wrong(name, "a list");
    }

    private static JsonException wrong(String name, String expected) {
        return new JsonException(Json.quote(name) + " is not " + expected);
    }
}
