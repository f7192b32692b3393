package io.snowraft.layout;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The layouts of well-known systems and libraries. */
public final class Presets {
    private static final long TWITTER_EPOCH = 1_288_834_974_657L;
    private static final long DEFAULT_EPOCH = 1_735_689_600_000L; // 2025-01-01T00:00:00Z

    private Presets() {
    }

    /** Returns the preset of a name. It throws an {@link IllegalArgumentException} that lists the names if there is none. */
    public static Layout get(String name) {
        Layout layout = Holder.ALL.get(name);
        if (layout == null) {
            throw new IllegalArgumentException("unknown preset \"" + name + "\", expected one of " + String.join(", ", Holder.ALL.keySet()));
        }
        return layout;
    }

    /** Returns all presets, sorted by name. */
    public static List<Layout> all() {
        return List.copyOf(Holder.ALL.values());
    }

    /** Holds the presets, so that nothing is built before the first use. */
    private static final class Holder {
        private static final Map<String, Layout> ALL = new TreeMap<>();

        static {
            add(Layout.of("baidu", "time:28,worker:22,sequence:13", 1000, 1_463_673_600_000L));
            add(leased("cap", "worker:10,time:41,sequence:12", TWITTER_EPOCH));
            add(Layout.of("cosid", "time:41,worker:10,sequence:12", 1, 1_577_203_200_000L));
            add(Layout.of("default", "time:41,worker:10,sequence:12", 1, DEFAULT_EPOCH));
            add(Layout.of("discord", "time:42,datacenter:5,worker:5,sequence:12", 1, 1_420_070_400_000L));
            add(Layout.of("hutool", "time:41,worker:10,sequence:12", 1, TWITTER_EPOCH));
            add(Layout.of("instagram", "time:41,worker:13,sequence:10", 1, 1_314_220_021_721L));
            add(Layout.of("jssafe", "time:41,worker:6,sequence:6", 1, DEFAULT_EPOCH));
            add(Layout.of("leaf", "time:41,worker:10,sequence:12", 1, TWITTER_EPOCH));
            add(Layout.of("mastodon", "time:48,sequence:16", 1, 0));
            add(Layout.of("mybatis", "time:41,worker:10,sequence:12", 1, TWITTER_EPOCH));
            add(Layout.of("netease", "time:41,worker:10,sequence:12", 1, 1_609_344_000_000L));
            add(Layout.of("sonyflake", "time:39,sequence:8,worker:16", 10, 1_409_529_600_000L));
            add(leased("tsid", "time:42,worker:10,sequence:12", 1_577_836_800_000L));
            add(Layout.of("twitter", "time:41,datacenter:5,worker:5,sequence:12", 1, TWITTER_EPOCH));
            add(Layout.of("yitter", "time:51,worker:6,sequence:6", 1, 1_582_136_402_000L));
        }

        private static void add(Layout layout) {
            ALL.put(layout.name(), layout);
        }

        /** Returns a preset of IDs that other programs make. */
        private static Layout leased(String name, String fields, long epochMillis) {
            return new Layout(name, FieldBits.parse(fields), 1, 0, epochMillis, 0, 0, true);
        }
    }
}
