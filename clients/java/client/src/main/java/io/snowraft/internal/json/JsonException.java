package io.snowraft.internal.json;

/** Reports a text that is not JSON, or a document without the expected members. */
public final class JsonException extends Exception {
    private static final long serialVersionUID = 1L;

    JsonException(String message) {
        super(message);
    }
}
