package io.snowraft.test;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A script of a member whose answers are right, except where a test replaces them. Its clock is that of the system. */
public final class FakeCluster implements FakeMember.Script {
    private static final long EPOCH = 1_735_689_600_000L;
    private static final Pattern WINDOW = Pattern.compile("\"windowMs\":\"([0-9]+)\"");
    private static final Pattern TOKEN = Pattern.compile("\"token\":\"([0-9]+)\"");
    private static final Pattern COUNT = Pattern.compile("\"count\":\"?([0-9]+)\"?");

    private final Map<String, FakeMember.Script> replaced = new ConcurrentHashMap<>();
    private long tokens;
    private long from;
    private long until;
    private long ids = 1000;
    private long numbers = 1;
    private volatile long window = Long.MAX_VALUE; // greatest window granted, ms

    /** Replaces the answers to requests whose path begins so. A script that returns "" leaves the answer to this one. */
    public FakeCluster on(String path, FakeMember.Script script) {
        replaced.put(path, script);
        return this;
    }

    /** Sets the longest window that is granted. */
    public FakeCluster window(long millis) {
        window = millis;
        return this;
    }

    @Override
    public String answer(FakeMember.Request r) throws Exception {
        for (Map.Entry<String, FakeMember.Script> each : replaced.entrySet()) {
            if (r.path().startsWith(each.getKey())) {
                String answer = each.getValue().answer(r);
                if (answer == null || !answer.isEmpty()) {
                    return answer;
                }
            }
        }
        return FakeMember.ok(right(r));
    }

    /** Carries a request out, and returns the right answer. */
    public synchronized String right(FakeMember.Request r) {
        long now = System.currentTimeMillis();
        return switch (r.path().split("\\?")[0]) {
            case "/v1/layouts/default" -> "{\"layout\":{\"name\":\"default\",\"fields\":[{\"kind\":\"time\",\"bits\":41},{\"kind\":\"worker\",\"bits\":10},"
                    + "{\"kind\":\"sequence\",\"bits\":12}],\"unitMs\":\"1\",\"epochAtMs\":\"" + EPOCH + "\",\"datacenter\":\"0\",\"spread\":\"1024\"}}";
            case "/v1/workers:acquire" -> {
                tokens++;
                from = now - EPOCH; // each token has a worker of its own
                until = from + Math.min(number(WINDOW, r), window);
                yield grant();
            }
            case "/v1/workers:extend" -> {
                until = Math.max(until, now - EPOCH + Math.min(number(WINDOW, r), window));
                yield grant();
            }
            case "/v1/status" -> "{\"memberId\":\"m1\",\"leaderId\":\"m1\",\"observedClockAtMs\":\"" + (now - 100) + "\",\"clockAtMs\":\"" + now
                    + "\",\"clockOffsetMs\":\"0\",\"config\":{\"waitThresholdMs\":\"1000\",\"maxClockOffsetMs\":\"500\",\"rollback\":\"refuse\"}}";
            case "/v1/ids:generate" -> {
                long count = number(COUNT, r);
                ids += count;
                yield "{\"ranges\":[{\"first\":\"" + (ids - count) + "\",\"count\":" + count + ",\"step\":\"1\"}],\"ids\":[]}";
            }
            case "/v1/sequences:next" -> {
                long count = number(COUNT, r);
                numbers += count;
                yield "{\"sequence\":\"s\",\"first\":\"" + (numbers - count) + "\",\"count\":" + count + ",\"increment\":\"1\",\"period\":\"\",\"texts\":[]}";
            }
            case "/v1/blocks:allocate" -> {
                long count = number(COUNT, r);
                numbers += count;
                yield "{\"block\":{\"token\":\"" + ++tokens + "\",\"first\":\"" + (numbers - count) + "\",\"count\":\"" + count + "\",\"increment\":\"1\","
                        + "\"generation\":\"1\",\"period\":\"\",\"periodEndsAtMs\":\"0\",\"blockDurationMs\":\"10000\",\"minBlock\":\"100\",\"maxBlock\":\"10000000\"}}";
            }
            case "/v1/sequences/s" -> "{\"sequence\":{\"name\":\"s\",\"generation\":\"1\",\"period\":\"\"}}";
            default -> "{}";
        };
    }

    private String grant() {
        return "{\"grant\":{\"worker\":\"" + tokens % 1024 + "\",\"token\":\"" + tokens + "\",\"fromTick\":\"" + from + "\",\"untilTick\":\"" + until
                + "\",\"observedClockAtMs\":\"" + (System.currentTimeMillis() - 100) + "\",\"maxWindowMs\":\"600000\"}}";
    }

    private static long number(Pattern pattern, FakeMember.Request r) {
        Matcher m = pattern.matcher(r.body());
        return m.find() ? Long.parseLong(m.group(1)) : 1;
    }

    /** Returns the fencing token in a request. */
    public static long token(FakeMember.Request r) {
        return number(TOKEN, r);
    }
}
