package io.snowraft.internal.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    private static JsonObject parse(String text) throws JsonException {
        return JsonObject.parse(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void valuesAreRead() throws Exception {
        JsonObject o = parse(" {\"n\":\"-9223372036854775808\",\"u\":\"18446744073709551615\",\"i\":17,\"t\":true,\"z\":null,"
                + "\"s\":\"a\\u00e9\\n\\\"\\ud83d\\ude00\",\"l\":[{\"x\":1},{\"x\":2}],\"w\":[\"a\",\"b\"],\"b\":\"AQI=\",\"o\":{\"y\":\"1\"}} ");
        assertEquals(Long.MIN_VALUE, o.int64("n"));
        assertEquals(-1, o.uint64("u"));
        assertEquals(17, o.count("i"));
        assertEquals(true, o.bool("t"));
        assertFalse(o.has("z"));
        assertEquals("a\u00e9\n\"\ud83d\ude00", o.string("s"));
        assertEquals(2, o.objects("l").get(1).int64("x"));
        assertEquals(List.of("a", "b"), o.strings("w"));
        assertEquals(2, o.bytes("b")[1]);
        assertEquals(1, o.object("o").int64("y"));
        assertEquals("", o.string("absent"));
        assertEquals(0, o.int64("absent"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "1", "null", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":-}", "{\"a\":+1}",
        "{\"a\":\"\t\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":tru}", "{\"a\":1,\"a\":2}", "{a:1}", "{\"a\":[1,]}", "{\"a\":\"", "{\"a\":\"\\"})
    void malformedDocumentsAreRefused(String text) {
        assertThrows(JsonException.class, () -> parse(text));
    }

    @Test
    void deepDocumentsAreRefused() {
        assertThrows(JsonException.class, () -> parse("{\"a\":" + "[".repeat(1_000_000)));
    }

    @Test
    void invalidUtf8IsRefused() {
        assertThrows(JsonException.class, () -> JsonObject.parse(new byte[] {'{', '"', (byte) 0xc3, '"', ':', '1', '}'}));
    }

    @Test
    void wrongTypesAreRefused() throws Exception {
        JsonObject o = parse("{\"s\":\"x\",\"n\":1.5,\"big\":\"9223372036854775808\",\"neg\":-1,\"l\":[1],\"e\":1e3}");
        assertThrows(JsonException.class, () -> o.int64("s"));
        assertThrows(JsonException.class, () -> o.int64("n"));
        assertThrows(JsonException.class, () -> o.int64("e"));
        assertThrows(JsonException.class, () -> o.int64("big"));
        assertThrows(JsonException.class, () -> o.count("neg"));
        assertThrows(JsonException.class, () -> o.strings("l"));
        assertThrows(JsonException.class, () -> o.objects("l"));
        assertThrows(JsonException.class, () -> o.object("s"));
        assertThrows(JsonException.class, () -> o.bool("s"));
        assertThrows(JsonException.class, () -> o.bytes("neg"));
    }

    @Test
    void randomBytesNeverCauseAnotherException() {
        Random random = new Random(1);
        byte[] alphabet = "{}[]\":,\\u0123e+-.tfn \n\u00e9a".getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 100_000; i++) {
            byte[] document = new byte[random.nextInt(40)];
            for (int k = 0; k < document.length; k++) {
                document[k] = alphabet[random.nextInt(alphabet.length)];
            }
            try {
                JsonObject.parse(document);
            } catch (JsonException e) {
                // expected of most
            }
        }
    }

    @Test
    void writtenTextsAreReadBack() throws Exception {
        String text = "a\"\\\n\u0000\u007f\u00e9\ud83d\ude00";
        assertEquals(text, parse(new Json().put("s", text).toString()).string("s"));
        assertEquals("{\"a\":\"-1\",\"b\":\"18446744073709551615\",\"c\":1,\"d\":false,\"e\":null,\"f\":[{\"g\":1}]}",
                new Json().put("a", -1L).putUnsigned("b", -1).put("c", 1).put("d", false).putNull("e").put("f", List.of(new Json().put("g", 1))).toString());
    }
}
