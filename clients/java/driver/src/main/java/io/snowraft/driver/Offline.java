package io.snowraft.driver;

import io.snowraft.layout.DecodedId;
import io.snowraft.layout.Encoding;
import io.snowraft.layout.Field;
import io.snowraft.layout.FieldBits;
import io.snowraft.layout.Layout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The operations that need no cluster. */
final class Offline {
    private Offline() {
    }

    static Map<String, Object> decode(Args args) {
        Layout layout = layout(args);
        long id = Encoding.parse(args.text("encoding", "dec")).decode(args.text("id"));
        DecodedId d = layout.decode(id);
        Map<String, Object> ok = new LinkedHashMap<>();
        ok.put("id", Long.toUnsignedString(id));
        ok.put("layout", layout.name());
        ok.put("tick_at_ms", d.tickMillis());
        ok.put("tick", Long.toString(d.tick()));
        ok.put("datacenter", Long.toString(d.datacenter()));
        ok.put("worker", Long.toString(d.worker()));
        ok.put("sequence", Long.toString(d.sequence()));
        return ok;
    }

    static Map<String, Object> encode(Args args) {
        Layout layout = layout(args);
        long tick = args.has("tick") ? args.number("tick", 0) : layout.tickAt(args.number("tick_at_ms", 0));
        long id = layout.encode(tick, args.number("datacenter", layout.datacenter()), args.number("worker", 0), args.number("sequence", 0));
        return Map.of("id", Encoding.parse(args.text("encoding", "dec")).encode(id));
    }

    /** Returns the layout of an argument: the name of a preset, or a layout as members return it. */
    private static Layout layout(Args args) {
        if (!(args.values().get("layout") instanceof Map<?, ?> spec)) {
            return Layout.preset(args.text("layout", "default"));
        }
        List<FieldBits> fields = new ArrayList<>();
        if (spec.get("fields") instanceof String text) {
            fields.addAll(FieldBits.parse(text));
        } else {
            for (Object f : (List<?>) spec.get("fields")) {
                Map<?, ?> field = (Map<?, ?>) f;
                fields.add(new FieldBits(Field.parse(field.get("kind").toString()), Integer.parseInt(field.get("bits").toString())));
            }
        }
        String name = spec.get("name") == null ? "custom" : spec.get("name").toString();
        return new Layout(name, fields, number(spec, "unitMs", 1), number(spec, "ticksPerMs", 0), number(spec, "epochAtMs", 0),
                number(spec, "datacenter", 0), number(spec, "spread", 0), false);
    }

    private static long number(Map<?, ?> spec, String name, long absent) {
        return spec.get(name) == null ? absent : Long.parseLong(spec.get(name).toString());
    }
}
