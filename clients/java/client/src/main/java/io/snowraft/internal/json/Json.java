package io.snowraft.internal.json;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

/** Writes a JSON object, member by member. Writers are not safe for concurrent use. */
public final class Json {
    private final StringBuilder text = new StringBuilder("{");

    /** Adds a string. */
    public Json put(String name, String value) {
        member(name).append(quote(value));
        return this;
    }

    /** Adds a signed 64-bit integer, as a string. */
    public Json put(String name, long value) {
        member(name).append('"').append(value).append('"');
        return this;
    }

    /** Adds an unsigned 64-bit integer, as a string. */
    public Json putUnsigned(String name, long value) {
        member(name).append('"').append(Long.toUnsignedString(value)).append('"');
        return this;
    }

    /** Adds a 32-bit integer, as a number. */
    public Json put(String name, int value) {
        member(name).append(value);
        return this;
    }

    /** Adds true or false. */
    public Json put(String name, boolean value) {
        member(name).append(value);
        return this;
    }

    /** Adds bytes, in base64. */
    public Json put(String name, byte[] value) {
        return put(name, Base64.getEncoder().encodeToString(value));
    }

    /** Adds null, which resets a field to its default. */
    public Json putNull(String name) {
        member(name).append("null");
        return this;
    }

    /** Adds an object. */
    public Json put(String name, Json value) {
        member(name).append(value);
        return this;
    }

    /** Adds a list of objects. */
    public Json put(String name, List<Json> values) {
        member(name).append('[');
        String separator = "";
        for (Json value : values) {
            text.append(separator).append(value);
            separator = ",";
        }
        text.append(']');
        return this;
    }

    /** Adds a list of texts. */
    public Json putStrings(String name, List<String> values) {
        member(name).append('[').append(values.stream().map(Json::quote).collect(Collectors.joining(","))).append(']');
        return this;
    }

    private StringBuilder member(String name) {
        if (text.length() > 1) {
            text.append(',');
        }
        return text.append(quote(name)).append(':');
    }

    /** Returns the document in UTF-8. */
    public byte[] bytes() {
        return toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return text + "}";
    }

    /** Returns a text as a JSON string. An unpaired surrogate becomes an escape, which members refuse. */
    static String quote(String value) {
        StringBuilder s = new StringBuilder(value.length() + 2).append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            boolean pair = Character.isHighSurrogate(c) && i + 1 < value.length() && Character.isLowSurrogate(value.charAt(i + 1));
            if (pair) {
                s.append(c).append(value.charAt(++i));
            } else if (c < ' ' || c == 0x7f || Character.isSurrogate(c)) {
                s.append(String.format("\\u%04x", (int) c));
            } else if (c == '"' || c == '\\') {
                s.append('\\').append(c);
            } else {
                s.append(c);
            }
        }
        return s.append('"').toString();
    }
}
