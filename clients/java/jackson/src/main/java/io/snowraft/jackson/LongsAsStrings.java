package io.snowraft.jackson;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.io.IOException;

/**
 * Makes Jackson write every 64-bit integer as a string, also in arrays, so that JavaScript does not round it. If only some of them are IDs,
 * annotate these with {@link StringId} instead. Jackson reads both strings and numbers.
 */
public final class LongsAsStrings extends SimpleModule {
    private static final long serialVersionUID = 1L;

    /** Creates the module, for {@code ObjectMapper.registerModule}. */
    public LongsAsStrings() {
        super("snowraft-longs-as-strings");
        addSerializer(Long.class, ToStringSerializer.instance);
        addSerializer(Long.TYPE, ToStringSerializer.instance);
        addSerializer(long[].class, new Arrays());
    }

    /** Writes arrays, for which Jackson has a serializer of its own. */
    private static final class Arrays extends JsonSerializer<long[]> {
        @Override
        public void serialize(long[] values, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeStartArray();
            for (long value : values) {
                out.writeString(Long.toString(value));
            }
            out.writeEndArray();
        }
    }
}
