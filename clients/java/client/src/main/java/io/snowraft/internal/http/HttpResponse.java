package io.snowraft.internal.http;

/** A complete answer. {@code reusable} reports whether the connection can carry another request. */
public record HttpResponse(int status, String contentType, byte[] body, boolean reusable) {
}
