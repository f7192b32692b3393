package io.snowraft.spring;

import io.snowraft.client.ClientBuilder;

/**
 * Changes the builder of the client, after the properties were applied. A listener replaces the one that counts for Micrometer. Define a
 * bean of this type.
 */
@FunctionalInterface
public interface SnowraftClientCustomizer {
    /** Changes the builder. */
    void customize(ClientBuilder builder);
}
