package io.snowraft.driver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes the JSON lines of the suite: maps, lists, strings, whole numbers, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Parses an object. */
    @SuppressWarnings("unchecked") // an object is a map of strings
    static Map<String, Object> parse(String line) {
        return (Map<String, Object>) new Json(line).value();
    }

    private Object value() {
        skip();
        char c = text.charAt(at);
        if (c == '{') {
            return object();
        } else if (c == '[') {
            return list();
        } else if (c == '"') {
            return string();
        }
        int from = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> Long.valueOf(word);
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        for (skip(); text.charAt(at) != '}'; separator()) {
            String name = string();
            skip();
            at++; // the colon
            members.put(name, value());
        }
        at++;
        return members;
    }

    private List<Object> list() {
        List<Object> values = new ArrayList<>();
        at++;
        for (skip(); text.charAt(at) != ']'; separator()) {
            values.add(value());
        }
        at++;
        return values;
    }

    private void separator() {
        skip();
        if (text.charAt(at) == ',') {
            at++;
            skip();
        }
    }

    private String string() {
        StringBuilder s = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                s.append(c);
                continue;
            }
            c = text.charAt(++at);
            switch (c) {
                case 'n' -> s.append('\n');
                case 't' -> s.append('\t');
                case 'r' -> s.append('\r');
                case 'b' -> s.append('\b');
                case 'f' -> s.append('\f');
                case 'u' -> {
                    s.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                }
                default -> s.append(c);
            }
        }
        at++;
        return s.toString();
    }

    private void skip() {
        while (at < text.length() && text.charAt(at) <= ' ') {
            at++;
        }
    }

    /** Writes a value on one line. A long is a whole number; IDs are passed as strings. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> member : map.entrySet()) {
                out.append(separator);
                quote(out, member.getKey().toString());
                out.append(':');
                write(out, member.getValue());
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            String separator = "";
            for (Object each : list) {
                out.append(separator);
                write(out, each);
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String s) {
            quote(out, s);
        } else {
            out.append(value);
        }
    }

    private static void quote(StringBuilder out, String s) {
        out.append('"');
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
