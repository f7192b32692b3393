package io.snowraft.driver;

import java.util.List;
import java.util.Map;

/** The arguments of a request. */
record Args(Map<String, Object> values) {
    boolean has(String name) {
        return values.get(name) != null;
    }

    String text(String name) {
        Object value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("missing argument \"" + name + "\"");
        }
        return value.toString();
    }

    String text(String name, String absent) {
        return has(name) ? text(name) : absent;
    }

    /** Returns a number, which may be a string. */
    long number(String name, long absent) {
        return has(name) ? Long.parseLong(text(name)) : absent;
    }

    int count(String name, int absent) {
        return Math.toIntExact(number(name, absent));
    }

    boolean flag(String name) {
        return Boolean.TRUE.equals(values.get(name));
    }

    @SuppressWarnings("unchecked") // an object is a map of strings
    List<Args> objects(String name) {
        return ((List<?>) values.get(name)).stream().map(value -> new Args((Map<String, Object>) value)).toList();
    }

    List<String> texts(String name) {
        return ((List<?>) values.get(name)).stream().map(Object::toString).toList();
    }
}
