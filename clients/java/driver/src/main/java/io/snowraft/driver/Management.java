package io.snowraft.driver;

import io.snowraft.client.DecodedText;
import io.snowraft.client.SequenceInfo;
import io.snowraft.client.SequenceSpec;
import io.snowraft.client.SnowraftClient;
import io.snowraft.layout.Layout;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** The operations of the management of sequences and layouts. */
final class Management {
    private Management() {
    }

    static Map<String, Object> perform(String op, SnowraftClient client, Args args) {
        switch (op) {
            case "sequence":
                return info(client.getSequence(args.text("sequence")));
            case "update":
                return info(client.updateSequence(args.text("sequence"), SequenceSpec.of().format(args.text("format")), OptionalLong.empty(), false));
            case "set_next":
                return info(client.sequence(args.text("sequence")).setNext(args.number("next", 0), false));
            case "decode_text":
                DecodedText decoded = client.sequence(args.text("sequence")).decode(args.text("text"));
                String state = decoded.state().name().toLowerCase(Locale.ROOT).replace('_', '-');
                return Map.of("number", Long.toString(decoded.number()), "state", state);
            case "delete":
                client.deleteSequence(args.text("sequence"));
                return Map.of();
            case "list":
                return Map.of("names", client.listSequences(args.text("prefix")).stream().map(SequenceInfo::name).toList());
            case "last":
                OptionalLong last = client.sequence(args.text("sequence")).last();
                return last.isPresent() ? Map.of("last", Long.toString(last.getAsLong())) : Map.of();
            case "create_layout":
                client.createLayout(Layout.of(args.text("layout"), args.text("fields"), 1, args.number("epoch_ms", 0)));
                return Map.of();
            default:
                String fields = client.getLayout(args.text("layout")).fields().stream().map(f -> f.field() + ":" + f.bits()).collect(Collectors.joining(","));
                return Map.of("fields", fields, "names", client.listLayouts().stream().map(Layout::name).toList());
        }
    }

    /** Returns a sequence, as far as the suite looks at it. */
    private static Map<String, Object> info(SequenceInfo s) {
        Map<String, Object> info = new LinkedHashMap<>(Map.of("mode", s.mode().toString(), "step", Long.toString(s.increment()), "format", s.format()));
        s.next().ifPresent(next -> info.put("next", Long.toString(next)));
        return info;
    }
}
