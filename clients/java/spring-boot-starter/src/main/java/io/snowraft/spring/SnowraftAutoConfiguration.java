package io.snowraft.spring;

import io.snowraft.client.Generator;
import io.snowraft.client.SnowraftClient;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Configures a {@link SnowraftClient} and a {@link Generator}, from which Hibernate takes the IDs of members with the annotation
 * {@link io.snowraft.hibernate.SnowraftId}.
 */
@AutoConfiguration
@EnableConfigurationProperties(SnowraftProperties.class)
public class SnowraftAutoConfiguration {
    /** Returns the client, which Spring closes. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public SnowraftClient snowraftClient(SnowraftProperties properties, ObjectProvider<SnowraftClientCustomizer> customizers) {
        return Connection.client(properties, customizers.orderedStream().toList());
    }

    /** Returns the generator, which can issue IDs if {@code snowraft.ready-timeout} is not 0, and which Spring closes. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    @ConditionalOnProperty(name = "snowraft.generator.enabled", matchIfMissing = true)
    public Generator snowraftGenerator(SnowraftClient client, SnowraftProperties properties) {
        return Connection.generator(client, properties);
    }
}
