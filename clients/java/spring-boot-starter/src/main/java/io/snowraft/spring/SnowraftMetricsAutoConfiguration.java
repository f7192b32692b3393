package io.snowraft.spring;

import io.micrometer.core.instrument.binder.MeterBinder;
import io.snowraft.client.Generator;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Configures the metrics of Micrometer. */
@AutoConfiguration(after = SnowraftAutoConfiguration.class)
@ConditionalOnClass(MeterBinder.class)
public class SnowraftMetricsAutoConfiguration {
    @Bean
    ClientMetrics snowraftClientMetrics() {
        return new ClientMetrics();
    }

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    SnowraftClientCustomizer snowraftMetricsCustomizer(ClientMetrics metrics) {
        return builder -> builder.listener(metrics);
    }

    @Bean
    GeneratorMetrics snowraftGeneratorMetrics(ListableBeanFactory beans) {
        return new GeneratorMetrics(beans.getBeansOfType(Generator.class));
    }
}
