package io.snowraft.test;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the test vectors that all clients share. */
public final class Vectors {
    private Vectors() {
    }

    public static JsonObject read(String name) throws IOException, JsonException {
        Path dir = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(dir.resolve("proto/vectors"))) {
            dir = dir.getParent();
        }
        return JsonObject.parse(Files.readAllBytes(dir.resolve("proto/vectors").resolve(name)));
    }
}
