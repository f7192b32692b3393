package io.snowraft.spring;

import io.snowraft.client.Generator;
import io.snowraft.client.LaneStatus;
import io.snowraft.client.SnowraftException;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The state of a generator.
 *
 * @param refusal   why it issues no IDs; empty while it does
 * @param warning   why a lane cannot issue, or why its window is not extended; empty if all lanes are well
 * @param workers   workers of the lanes, unsigned
 * @param windowEnd end of the window that ends last; empty without a worker
 */
record GeneratorState(Optional<SnowraftException> refusal, Optional<SnowraftException> warning, List<String> workers,
        Optional<Instant> windowEnd) {

    static GeneratorState of(Generator generator) {
        Optional<SnowraftException> refusal = generator.problem();
        List<LaneStatus> lanes = generator.lanes();
        return new GeneratorState(refusal, lanes.stream().flatMap(lane -> lane.problem().stream()).findFirst(),
                lanes.stream().filter(lane -> lane.token() != 0).map(lane -> Long.toUnsignedString(lane.worker())).toList(),
                lanes.stream().flatMap(lane -> lane.serveUntil().stream()).max(Comparator.naturalOrder()));
    }

    /** Returns the details of a health indicator. */
    Map<String, Object> details() {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("state", refusal.isEmpty() ? "issuing" : "refusing");
        Stream.concat(refusal.stream(), warning.stream()).findFirst().ifPresent(e -> {
            details.put("reason", e.reasonName());
            details.put("error", e.text());
        });
        details.put("workers", workers);
        windowEnd.ifPresent(end -> details.put("windowEnd", end.toString()));
        return details;
    }
}
