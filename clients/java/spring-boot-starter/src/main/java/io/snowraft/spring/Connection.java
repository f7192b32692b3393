package io.snowraft.spring;

import io.snowraft.client.ClientBuilder;
import io.snowraft.client.Generator;
import io.snowraft.client.GeneratorOptions;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/** Makes the client and the generator of the properties, and names the property that is wrong. */
final class Connection {
    private static final String LOGGER = "io.snowraft.client";

    private Connection() {
    }

    static SnowraftClient client(SnowraftProperties properties, List<SnowraftClientCustomizer> customizers) {
        ClientBuilder builder = SnowraftClient.builder().logger(System.getLogger(LOGGER));
        if (properties.addresses().isEmpty()) {
            throw new StartException("snowraft.addresses is missing.",
                    "Set snowraft.addresses to the HTTP addresses of some members, such as db1:7701,db2:7701.", null);
        }
        check("snowraft.addresses", properties.addresses(), () -> builder.addresses(properties.addresses().toArray(String[]::new)));
        check("snowraft.timeout", properties.timeout(), () -> builder.timeout(properties.timeout()));
        builder.token(token(properties));
        if (properties.caFile() != null) {
            builder.ca(read("snowraft.ca-file", properties.caFile()));
        }
        if (properties.systemTrust()) {
            builder.systemTrust();
        }
        if (properties.clearText()) {
            builder.clearText();
        }
        customizers.forEach(c -> c.customize(builder));
        try {
            return builder.build();
        } catch (SnowraftException e) { // no text of an error contains the token
            throw new StartException("The settings of Snowraft are invalid: " + e.text(), "Correct snowraft.token, snowraft.token-file, "
                    + "snowraft.ca-file, snowraft.system-trust or snowraft.clear-text.", e);
        }
    }

    private static String token(SnowraftProperties properties) {
        if (properties.tokenFile() == null) {
            return properties.token();
        } else if (!properties.token().isEmpty()) {
            throw new StartException("snowraft.token and snowraft.token-file are both set.", "Remove one of them.", null);
        }
        return read("snowraft.token-file", properties.tokenFile()).strip();
    }

    private static String read(String property, Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new InvalidConfigurationPropertyValueException(property, file, "cannot read the file: " + e);
        }
    }

    static Generator generator(SnowraftClient client, SnowraftProperties properties) {
        if (properties.readyTimeout().isNegative()) {
            throw new InvalidConfigurationPropertyValueException("snowraft.ready-timeout", properties.readyTimeout(), "must not be negative");
        }
        GeneratorOptions layout = check("snowraft.layout", properties.layout(), () -> GeneratorOptions.defaults().withLayout(properties.layout()));
        GeneratorOptions holder = check("snowraft.holder", properties.holder(), () -> layout.withHolder(properties.holder()));
        GeneratorOptions options = check("snowraft.lanes", properties.lanes(), () -> holder.withLanes(properties.lanes()));
        Generator generator = client.generator(properties.failFast() ? options.withFailFast() : options);
        if (!properties.readyTimeout().isZero()) {
            awaitReady(generator, properties);
        }
        return generator;
    }

    private static void awaitReady(Generator generator, SnowraftProperties properties) {
        try {
            generator.ready(properties.readyTimeout());
        } catch (SnowraftException e) {
            generator.close();
            throw new StartException("Snowraft cannot issue IDs (snowraft.ready-timeout: " + properties.readyTimeout() + ", snowraft.addresses: "
                    + String.join(",", properties.addresses()) + "): " + e.text() + " [" + e.reasonName() + "]", action(e.reason(), properties), e);
        }
    }

    private static String action(Reason reason, SnowraftProperties properties) {
        return switch (reason) {
            case UNAUTHENTICATED, PERMISSION_DENIED -> "Set snowraft.token or snowraft.token-file to a token with the scope worker:lease:"
                    + properties.layout() + ".";
            case PIN_MISMATCH -> "Use a token or a CA of the cluster that the addresses belong to.";
            case UNKNOWN_LAYOUT -> "Create the layout with \"snowraft layout create\", or set snowraft.layout to a layout of the cluster.";
            default -> "Check that the members run and that the addresses are those of their HTTP ports, 7701 by default. To start without "
                    + "members, set snowraft.ready-timeout to 0.";
        };
    }

    /** Returns the result of a step, and names the property if the client refuses its value. */
    private static <T> T check(String property, Object value, Supplier<T> step) {
        try {
            return step.get();
        } catch (SnowraftException e) {
            throw new InvalidConfigurationPropertyValueException(property, value, e.text());
        }
    }
}
