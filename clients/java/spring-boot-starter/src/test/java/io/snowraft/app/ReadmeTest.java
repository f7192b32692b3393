package io.snowraft.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.hibernate.SnowraftIdGenerator;
import io.snowraft.spring.SnowraftProperties;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** The blocks of the page about Java that are for applications of the frameworks. */
class ReadmeTest {
    private static final Path ROOT = Path.of("..");

    private final String page = read(ROOT.resolve("README.md"));

    private String section(String heading) {
        return page.split("\n## " + heading + "\n")[1].split("\n## ")[0];
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> find(String pattern, String text) {
        return Pattern.compile(pattern, Pattern.DOTALL | Pattern.MULTILINE).matcher(text).results().map(match -> match.group(1)).toList();
    }

    private static String block(String language, String text) {
        List<String> blocks = find("^```" + language + "\n(.*?)^```$", text);
        assertEquals(1, blocks.size(), language);
        return blocks.get(0);
    }

    @Test
    void dependenciesAreTheModules() {
        String version = find("<version>(.*?)</version>", read(ROOT.resolve("pom.xml"))).get(0);
        List<String> dependencies = find("<dependency>\n(.*?)</dependency>", page);
        assertEquals(2, dependencies.size());
        for (String dependency : dependencies) {
            String artifact = find("<artifactId>snowraft-(.*?)</artifactId>", dependency).get(0);
            assertEquals("  <groupId>io.snowraft</groupId>\n  <artifactId>snowraft-" + artifact + "</artifactId>\n  <version>" + version + "</version>\n",
                    dependency);
            assertTrue(read(ROOT.resolve(artifact).resolve("pom.xml")).contains("<artifactId>snowraft-" + artifact + "</artifactId>"), artifact);
        }
    }

    @Test
    void propertiesAreThoseOfTheStarter() throws IOException {
        String spring = section("Spring Boot");
        Properties properties = new Properties();
        properties.load(new StringReader(block("properties", spring)));
        SnowraftProperties bound = new Binder(new MapConfigurationPropertySource(properties)).bind("snowraft", SnowraftProperties.class).get();
        assertEquals(List.of("db1:7701", "db2:7701"), bound.addresses());
        assertEquals("/run/secrets/snowraft", bound.tokenFile().toString());

        String metadata;
        try (InputStream in = SnowraftProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            metadata = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        List<String> rows = find("^\\| (`snowraft[^|]*)", spring).stream().flatMap(cell -> find("`(.*?)`", cell).stream()).toList();
        assertTrue(rows.containsAll(properties.stringPropertyNames()), rows::toString);
        for (String name : rows) {
            assertTrue(metadata.contains("\"name\": \"" + name + "\""), name);
        }
    }

    @Test
    void entityCompiles(@TempDir Path dir) throws IOException {
        compile(dir, "Order", block("java", section("Spring Boot")));
    }

    @Test
    void statementsWithoutSpringCompile(@TempDir Path dir) throws IOException {
        String hibernate = block("java", section("Hibernate without Spring"));
        assertEquals(List.of(SnowraftIdGenerator.SETTING), find("\"(snowraft.*?)\"", hibernate));
        String mybatis = block("java", section("MyBatis-Plus without Spring"));
        compile(dir, "Statements", """
                import com.baomidou.mybatisplus.core.config.GlobalConfig;
                import io.snowraft.client.Generator;
                import io.snowraft.client.SnowraftClient;
                import io.snowraft.mybatisplus.SnowraftIdentifierGenerator;
                import jakarta.persistence.EntityManagerFactory;
                import jakarta.persistence.Persistence;
                import java.util.Map;

                class Statements {
                    void run(SnowraftClient client, GlobalConfig globalConfig) {
                        %s
                        %s
                    }
                }
                """.formatted(hibernate, mybatis));
    }

    private static void compile(Path dir, String name, String text) throws IOException {
        Path source = Files.writeString(dir.resolve(name + ".java"), text);
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-proc:none", "-cp", System.getProperty("java.class.path"),
                "-d", dir.toString(), source.toString()));
    }
}
