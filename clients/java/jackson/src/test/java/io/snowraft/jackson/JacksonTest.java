package io.snowraft.jackson;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.junit.jupiter.api.Test;

class JacksonTest {
    private static final long ID = 249_786_410_473_619_464L; // JavaScript reads 249786410473619460

    record Order(@StringId long id, long amount) {
    }

    record Batch(Long first, long last, long[] all, List<Long> some) {
    }

    @Test
    void annotatedIdIsAString() throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        String json = mapper.writeValueAsString(new Order(ID, 5));
        assertEquals("{\"id\":\"249786410473619464\",\"amount\":5}", json);
        assertEquals(new Order(ID, 5), mapper.readValue(json, Order.class));
        assertEquals(ID, mapper.readValue("{\"id\":249786410473619464}", Order.class).id());
    }

    @Test
    void moduleWritesAllLongsAsStrings() throws Exception {
        ObjectMapper mapper = new ObjectMapper().registerModule(new LongsAsStrings());
        String json = mapper.writeValueAsString(new Batch(ID, -1, new long[] {ID, 0}, List.of(ID)));
        assertEquals("{\"first\":\"249786410473619464\",\"last\":\"-1\",\"all\":[\"249786410473619464\",\"0\"],\"some\":[\"249786410473619464\"]}", json);
        Batch read = mapper.readValue(json, Batch.class);
        assertEquals(ID, read.first());
        assertEquals(-1, read.last());
        assertArrayEquals(new long[] {ID, 0}, read.all());
        assertEquals(List.of(ID), read.some());
    }
}
