package io.snowraft.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import io.snowraft.test.Vectors;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class LayoutVectorsTest {
    private static final long NOW = 1_796_083_200_000L;

    static Layout layout(JsonObject l) throws JsonException {
        List<FieldBits> fields = new ArrayList<>();
        for (JsonObject f : l.objects("fields")) {
            fields.add(new FieldBits(Field.parse(f.string("kind")), f.count("bits")));
        }
        return new Layout(l.string("name"), fields, l.int64("unitMs"), l.int64("ticksPerMs"), l.int64("epochAtMs"), l.uint64("datacenter"),
                l.int64("spread"), l.bool("leaseOnly"));
    }

    @Test
    void layoutsMatchVectors() throws Exception {
        for (JsonObject item : Vectors.read("layouts.json").objects("layouts")) {
            Layout layout = layout(item.object("layout"));
            boolean issues;
            try {
                layout.requireIssuing(NOW);
                issues = true;
            } catch (IllegalArgumentException e) {
                issues = false;
            }
            assertEquals(item.bool("issues"), issues, layout.name());
            for (JsonObject id : item.objects("ids")) {
                DecodedId d = layout.decode(id.uint64("id"));
                DecodedId want = new DecodedId(id.uint64("tick"), id.int64("tickAtMs"), id.uint64("datacenter"), id.uint64("worker"), id.uint64("sequence"));
                assertEquals(want, d, layout.name());
                assertEquals(id.uint64("id"), layout.encode(d.tick(), d.datacenter(), d.worker(), d.sequence()));
            }
            for (String id : item.strings("foreign")) {
                assertThrows(IllegalArgumentException.class, () -> layout.decode(Long.parseUnsignedLong(id)), id);
            }
            for (JsonObject m : item.objects("misfits")) {
                long tick = m.int64("tick");
                long datacenter = m.uint64("datacenter");
                long worker = m.uint64("worker");
                long sequence = m.uint64("sequence");
                assertThrows(IllegalArgumentException.class, () -> layout.encode(tick, datacenter, worker, sequence), layout.name());
            }
            for (JsonObject t : item.objects("ticks")) {
                assertEquals(t.int64("tick"), layout.tickAt(t.int64("atMs")), layout.name());
                assertEquals(t.int64("tickAtMs"), layout.millisAt(t.int64("tick")), layout.name());
            }
        }
    }

    @Test
    void presetsAreAmongTheVectors() throws Exception {
        int seen = 0;
        for (JsonObject item : Vectors.read("layouts.json").objects("layouts")) {
            Layout layout = layout(item.object("layout"));
            if (Presets.all().stream().anyMatch(p -> p.name().equals(layout.name()))) {
                seen++;
                assertEquals(Presets.get(layout.name()), layout);
            }
        }
        assertEquals(Presets.all().size(), seen);
    }

    @Test
    void fieldsMatchVectors() throws Exception {
        for (JsonObject f : Vectors.read("layouts.json").objects("fields")) {
            String text = f.string("text");
            if (f.bool("valid")) {
                assertEquals(text, FieldBits.format(FieldBits.parse(text)));
            } else {
                assertThrows(IllegalArgumentException.class, () -> FieldBits.parse(text), text);
            }
        }
    }

    @Test
    void encodingsMatchVectors() throws Exception {
        JsonObject vectors = Vectors.read("encodings.json");
        for (JsonObject t : vectors.objects("texts")) {
            for (Encoding encoding : Encoding.values()) {
                String text = t.string(encoding.toString());
                assertEquals(text, encoding.encode(t.uint64("id")));
                assertEquals(t.uint64("id"), encoding.decode(text));
            }
        }
        for (JsonObject d : vectors.objects("decode")) {
            Encoding encoding = Encoding.parse(d.string("encoding"));
            String text = d.string("text");
            if (d.has("error")) {
                assertThrows(IllegalArgumentException.class, () -> encoding.decode(text), text);
            } else {
                assertEquals(d.uint64("id"), encoding.decode(text), text);
            }
        }
    }

    @Test
    void uuidsMatchVectors() throws Exception {
        JsonObject vectors = Vectors.read("uuids.json");
        for (JsonObject u : vectors.objects("uuids")) {
            Layout layout = layout(u.object("layout"));
            UUID uuid = UUID.fromString(u.string("uuid"));
            assertEquals(uuid, UuidTag.of(u.string("cluster"), layout.name()).encode(layout, u.uint64("id")));
            assertEquals(u.uint64("id"), UuidTag.decode(layout, uuid));
        }
        int range = 0;
        for (JsonObject r : vectors.objects("reject")) {
            Layout layout = layout(r.object("layout"));
            if (r.string("error").equals("range")) { // the others are no UUIDs, which java.util.UUID parses in its own way
                range++;
                assertThrows(IllegalArgumentException.class, () -> UuidTag.decode(layout, UUID.fromString(r.string("uuid"))));
            }
        }
        assertTrue(range > 0);
    }
}
