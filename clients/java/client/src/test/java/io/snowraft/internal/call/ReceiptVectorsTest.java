package io.snowraft.internal.call;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.snowraft.internal.json.JsonObject;
import io.snowraft.test.Vectors;
import org.junit.jupiter.api.Test;

class ReceiptVectorsTest {
    @Test
    void receiptsAreKeptAsInVectors() throws Exception {
        Receipts receipts = new Receipts();
        int n = 0;
        for (JsonObject step : Vectors.read("receipts.json").objects("steps")) {
            String before = receipts.header();
            receipts.keep(step.bytes("receipt"));
            assertEquals(step.bool("keeps") ? step.string("receipt") : before, receipts.header(), "step " + n++);
        }
    }
}
