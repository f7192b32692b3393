package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.internal.json.JsonObject;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Blocks that the state of the sequence makes outdated. */
class BlockLedgerTest {
    private static BlockStock block(int token, int generation, String period) throws Exception {
        String text = "{\"token\":\"" + token + "\",\"first\":\"" + token * 100 + "\",\"count\":\"100\",\"increment\":\"1\",\"generation\":\"" + generation
                + "\",\"period\":\"" + period + "\",\"periodEndsAtMs\":\"0\"}";
        return BlockStock.of(JsonObject.parse(text.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void blocksOfAnEarlierEpochAreOutdated() throws Exception {
        BlockLedger ledger = new BlockLedger();
        BlockStock first = block(1, 1, "2026-11-29");
        assertTrue(ledger.accept(first));
        assertFalse(ledger.isOutdated(first));
        ledger.learn(new BlockStock.Epoch(1, BlockStock.Epoch.day("2026-11-30")));
        assertTrue(ledger.isOutdated(first), "its period has ended");
        BlockStock second = block(2, 1, "2026-11-30");
        assertTrue(ledger.accept(second));
        ledger.learn(new BlockStock.Epoch(2, 0));
        assertTrue(ledger.isOutdated(second), "the sequence has another numbering");
        assertFalse(ledger.accept(block(3, 1, "2026-12-01")), "granted before the change");
        assertTrue(ledger.accept(block(4, 2, "")));
    }
}
