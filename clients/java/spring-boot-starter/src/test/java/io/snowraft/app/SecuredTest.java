package io.snowraft.app;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Generator;
import io.snowraft.dev.DevCluster;
import io.snowraft.spring.SnowraftAutoConfiguration;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

class SecuredTest {
    private static DevCluster cluster;

    @BeforeAll
    static void startCluster() {
        cluster = DevCluster.startSecured();
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    private static ConfigurableApplicationContext start(String property) {
        return new SpringApplicationBuilder(SnowraftAutoConfiguration.class).properties("spring.main.web-application-type=none",
                "snowraft.ready-timeout=10m", "snowraft.addresses=" + cluster.addresses(), property).run();
    }

    @Test
    void tokenComesFromAFile(@TempDir Path dir) throws IOException {
        Path file = Files.writeString(dir.resolve("token"), cluster.token() + "\n");
        try (ConfigurableApplicationContext app = start("snowraft.token-file=" + file)) {
            assertTrue(app.getBean(Generator.class).next() > 0);
        }
    }

    @Test
    void missingTokenIsExplained() {
        assertThrows(RuntimeException.class, () -> start("snowraft.ca-file=" + cluster.ca()).close());
        String report = Reports.take();
        assertTrue(report.contains("[UNAUTHENTICATED]") && report.contains("a token with the scope worker:lease:default"), report);
    }
}
