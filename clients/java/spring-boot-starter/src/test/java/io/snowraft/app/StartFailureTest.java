package io.snowraft.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Generator;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.dev.DevCluster;
import io.snowraft.spring.SnowraftAutoConfiguration;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

class StartFailureTest {
    private static final String SECRET = "snowraft_1_secretsecret";

    private final String dead = DevCluster.deadAddress();

    /** Starts an application that has a client and a generator only. */
    private static ConfigurableApplicationContext start(String... properties) {
        return new SpringApplicationBuilder(SnowraftAutoConfiguration.class).properties("spring.main.web-application-type=none")
                .properties(properties).run();
    }

    /** Requires that the application does not start, and that the report of Spring Boot has these texts. */
    private static String report(String[] properties, String... texts) {
        assertThrows(RuntimeException.class, () -> start(properties).close());
        String report = Reports.take();
        for (String text : texts) {
            assertTrue(report.contains(text), () -> "\"" + text + "\" is not in \"" + report + "\"");
        }
        return report;
    }

    private String[] at(String... properties) {
        String[] all = Arrays.copyOf(properties, properties.length + 1);
        all[properties.length] = "snowraft.addresses=" + dead;
        return all;
    }

    @Test
    void unreachableMembersAreNamed() {
        report(at("snowraft.ready-timeout=1s"), "snowraft.addresses: " + dead, "cannot issue IDs", "[WINDOW_ENDED]",
                "Check that the members run and that the addresses are those of their HTTP ports, 7701 by default.");
    }

    @Test
    void applicationCanStartWithoutMembers() {
        try (ConfigurableApplicationContext app = StarterTest.start(at("snowraft.ready-timeout=0", "snowraft.timeout=1ms"))) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> app.getBean(OrderRepository.class).save(new Order()));
            assertEquals(Reason.WINDOW_ENDED, e.reason());
        }
    }

    @Test
    void generatorCanBeDisabled() {
        try (ConfigurableApplicationContext app = start(at("snowraft.generator.enabled=false"))) {
            assertTrue(app.getBeansOfType(Generator.class).isEmpty());
            assertFalse(app.getBeansOfType(SnowraftClient.class).isEmpty());
        }
    }

    @Test
    void invalidPropertiesAreNamed(@TempDir Path dir) throws IOException {
        report(new String[0], "snowraft.addresses is missing.", "Set snowraft.addresses to the HTTP addresses of some members");
        report(new String[] {"snowraft.addresses=db1:port"}, "snowraft.addresses", "db1:port");
        report(at("snowraft.timeout=0s"), "snowraft.timeout", "must be greater than 0");
        report(at("snowraft.lanes=65"), "snowraft.lanes", "65 lanes: expected 1 to 64");
        report(at("snowraft.holder=$me"), "snowraft.holder", "not beginning with");
        report(at("snowraft.ready-timeout=-1s"), "snowraft.ready-timeout", "must not be negative");
        report(at("snowraft.clear-text=true", "snowraft.system-trust=true"), "cannot be combined", "snowraft.system-trust or snowraft.clear-text");
        Path missing = dir.resolve("missing");
        report(at("snowraft.token-file=" + missing), "snowraft.token-file", "cannot read the file", missing.toString());
        report(at("snowraft.ca-file=" + missing), "snowraft.ca-file", "cannot read the file");
        assertFalse(report(at("snowraft.token=" + SECRET), "token", "Correct snowraft.token").contains(SECRET));
        Path token = Files.writeString(dir.resolve("token"), SECRET + "\n");
        assertFalse(report(at("snowraft.token-file=" + token), "token", "Correct snowraft.token").contains(SECRET));
        assertFalse(report(at("snowraft.token-file=" + token, "snowraft.token=" + SECRET), "snowraft.token and snowraft.token-file are both set")
                .contains(SECRET));
    }
}
