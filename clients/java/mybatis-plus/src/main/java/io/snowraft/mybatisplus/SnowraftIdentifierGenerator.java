package io.snowraft.mybatisplus;

import com.baomidou.mybatisplus.core.incrementer.IdentifierGenerator;
import io.snowraft.client.Generator;
import io.snowraft.client.SnowraftException;
import java.util.Objects;

/**
 * Issues the IDs of entities with {@code IdType.ASSIGN_ID}, in memory. MyBatis-Plus writes them as decimal digits into members of the type
 * {@code String}. Members with {@code IdType.ASSIGN_UUID} still get the random UUIDs of MyBatis-Plus, which need no cluster.
 */
public final class SnowraftIdentifierGenerator implements IdentifierGenerator {
    private final Generator ids;

    /** Creates it with a generator, which the caller closes. */
    public SnowraftIdentifierGenerator(Generator ids) {
        this.ids = Objects.requireNonNull(ids);
    }

    /** Returns an ID, as {@link Generator#next()} does: it waits for at most the client's timeout, and throws a {@link SnowraftException}. */
    @Override
    public Long nextId(Object entity) {
        return ids.next();
    }
}
