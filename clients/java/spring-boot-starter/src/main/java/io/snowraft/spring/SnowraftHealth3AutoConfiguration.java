package io.snowraft.spring;

import io.snowraft.client.Generator;
import java.util.Map;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Configures the health of the generators in Spring Boot 3. */
@AutoConfiguration(after = SnowraftAutoConfiguration.class)
@ConditionalOnClass(HealthIndicator.class)
@ConditionalOnBean(Generator.class)
@ConditionalOnEnabledHealthIndicator("snowraft")
public class SnowraftHealth3AutoConfiguration {
    @Bean
    HealthIndicator snowraftHealthIndicator(ListableBeanFactory beans) {
        Map<String, Generator> generators = beans.getBeansOfType(Generator.class);
        return () -> health(generators);
    }

    private static Health health(Map<String, Generator> generators) {
        Health.Builder health = Health.up();
        generators.forEach((name, generator) -> {
            GeneratorState state = GeneratorState.of(generator);
            health.withDetail(name, state.details());
            if (state.refusal().isPresent()) {
                health.down();
            }
        });
        return health.build();
    }
}
