package io.snowraft.internal.json;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses one JSON document (RFC 8259). It refuses invalid UTF-8, a member that appears twice, and documents nested deeper than
 * 32 levels. Numbers keep their text, so that no number is rounded.
 */
final class JsonParser {
    private static final int MAX_DEPTH = 32;

    private final String text;
    private int at;
    private int depth;

    private JsonParser(String text) {
        this.text = text;
    }

    static Object parse(byte[] document) throws JsonException {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(document)).toString();
        } catch (CharacterCodingException e) {
            throw new JsonException("invalid UTF-8");
        }
        JsonParser parser = new JsonParser(text);
        parser.skipSpace();
        Object value = parser.value();
        parser.skipSpace();
        if (parser.at < text.length()) {
            throw parser.unexpected("the end");
        }
        return value;
    }

    private Object value() throws JsonException {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                word("true");
                return Boolean.TRUE;
            case 'f':
                word("false");
                return Boolean.FALSE;
            case 'n':
                word("null");
                return null;
            default:
                return number();
        }
    }

    private Map<String, Object> object() throws JsonException {
        descend();
        Map<String, Object> members = new LinkedHashMap<>();
        if (next('}')) {
            depth--;
            return members;
        }
        do {
            skipSpace();
            if (peek() != '"') {
                throw unexpected("a member name");
            }
            String name = string();
            skipSpace();
            if (!next(':')) {
                throw unexpected("':'");
            }
            skipSpace();
            Object value = value();
            if (members.containsKey(name)) {
                throw new JsonException("member " + Json.quote(name) + " appears twice");
            }
            members.put(name, value);
            skipSpace();
        } while (next(','));
        if (!next('}')) {
            throw unexpected("',' or '}'");
        }
        depth--;
        return members;
    }

    private List<Object> array() throws JsonException {
        descend();
        List<Object> values = new ArrayList<>();
        if (next(']')) {
            depth--;
            return values;
        }
        do {
            skipSpace();
            values.add(value());
            skipSpace();
        } while (next(','));
        if (!next(']')) {
            throw unexpected("',' or ']'");
        }
        depth--;
        return values;
    }

    private void descend() throws JsonException {
        if (++depth > MAX_DEPTH) {
            throw new JsonException("nested deeper than " + MAX_DEPTH + " levels");
        }
        at++;
        skipSpace();
    }

    private String string() throws JsonException {
        int start = ++at;
        while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) != '\\' && text.charAt(at) >= ' ') {
            at++;
        }
        if (next('"')) {
            return text.substring(start, at - 1);
        }
        StringBuilder s = new StringBuilder(text.substring(start, at));
        while (!next('"')) {
            char c = peek();
            if (c < ' ') {
                throw unexpected("a character of a string");
            }
            at++;
            s.append(c == '\\' ? escaped() : c);
        }
        return s.toString();
    }

    private char escaped() throws JsonException {
        char c = peek();
        at++;
        switch (c) {
            case '"', '\\', '/':
                return c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int value = 0;
                for (int i = 0; i < 4; i++) {
                    int digit = Character.digit(peek(), 16);
                    if (digit < 0 || peek() > 'f') {
                        throw unexpected("a hexadecimal digit");
                    }
                    value = value << 4 | digit;
                    at++;
                }
                return (char) value;
            default:
                at--;
                throw unexpected("an escaped character");
        }
    }

    private JsonNumber number() throws JsonException {
        int start = at;
        next('-');
        if (!next('0')) {
            digits();
        }
        if (next('.')) {
            digits();
        }
        if (next('e') || next('E')) {
            if (!next('+')) {
                next('-');
            }
            digits();
        }
        return new JsonNumber(text.substring(start, at));
    }

    private void digits() throws JsonException {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw unexpected("a value");
        }
    }

    private void word(String word) throws JsonException {
        if (!text.startsWith(word, at)) {
            throw unexpected("a value");
        }
        at += word.length();
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() throws JsonException {
        if (at >= text.length()) {
            throw new JsonException("the document ends early");
        }
        return text.charAt(at);
    }

    private boolean next(char c) {
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private JsonException unexpected(String expected) {
        return new JsonException("expected " + expected + " at character " + at);
    }
}
