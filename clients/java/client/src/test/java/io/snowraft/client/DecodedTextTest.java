package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Texts of sequences, decoded by a scripted member. */
class DecodedTextTest {
    private static final String DECODE = "/v1/sequences:decode";
    private static final String ANSWER = "{\"sequence\":\"vouchers\",\"text\":\"V-1\",\"number\":\"17\",\"period\":\"2026-01-01\","
            + "\"format\":\"V-{code:base32:8}\",\"state\":\"not-granted\",\"deleted\":true}";

    private static SnowraftClient client(FakeMember member) {
        return SnowraftClient.builder().addresses(member.address()).timeout(Duration.ofMinutes(5)).build();
    }

    @Test
    void textDecodesToItsNumber() throws Exception {
        try (FakeMember member = new FakeMember(r -> FakeMember.ok(ANSWER)); SnowraftClient client = client(member)) {
            DecodedText want = new DecodedText(17, "2026-01-01", "V-{code:base32:8}", DecodedText.State.NOT_GRANTED, true);
            assertEquals(want, client.sequence("vouchers").decode("V-1"));
            assertEquals(List.of("{\"sequence\":\"vouchers\",\"text\":\"V-1\"}"), member.requests(DECODE).stream().map(FakeMember.Request::body).toList());
        }
    }

    @Test
    void malformedAnswerIsRefused() throws Exception {
        for (String answer : List.of(ANSWER.replace("not-granted", "lost"), ANSWER.replace("\"17\"", "\"x\""))) {
            try (FakeMember member = new FakeMember(r -> FakeMember.ok(answer)); SnowraftClient client = client(member)) {
                SnowraftException e = assertThrows(SnowraftException.class, () -> client.sequence("vouchers").decode("V-1"));
                assertEquals(Reason.MALFORMED_ANSWER, e.reason());
            }
        }
    }
}
