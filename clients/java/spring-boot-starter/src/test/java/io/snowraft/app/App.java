package io.snowraft.app;

import io.snowraft.client.Generator;
import io.snowraft.client.GeneratorOptions;
import io.snowraft.client.SnowraftClient;
import io.snowraft.dev.SlowClock;
import io.snowraft.spring.SnowraftClientCustomizer;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** The application of the tests. */
@SpringBootApplication
class App {
    @Bean
    SlowClock clock() {
        return new SlowClock();
    }

    @Bean
    SnowraftClientCustomizer customizer(SlowClock clock) {
        return builder -> builder.clock(clock);
    }

    @Bean(defaultCandidate = false)
    Generator invoiceIds(SnowraftClient client) {
        return client.generator(GeneratorOptions.defaults().withHolder("invoices"));
    }
}
