package io.snowraft.driver;

import io.snowraft.layout.DecodedId;
import io.snowraft.layout.Encoding;
import io.snowraft.layout.Layout;
import java.util.Map;

/** The operations that need no cluster. */
final class Offline {
    private Offline() {
    }

    static Map<String, Object> decode(Args args) {
        DecodedId d = Layout.preset(args.text("layout")).decode(Encoding.parse("dec").decode(args.text("id")));
        return Map.of("tick_at_ms", d.tickMillis(), "datacenter", Long.toString(d.datacenter()), "worker", Long.toString(d.worker()),
                "sequence", Long.toString(d.sequence()));
    }

    static Map<String, Object> encode(Args args) {
        Layout layout = Layout.preset(args.text("layout"));
        long id = layout.encode(layout.tickAt(args.number("tick_at_ms", 0)), args.number("datacenter", 0), args.number("worker", 0), args.number("sequence", 0));
        return Map.of("id", Long.toUnsignedString(id));
    }
}
