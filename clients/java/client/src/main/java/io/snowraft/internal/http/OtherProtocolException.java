package io.snowraft.internal.http;

import java.net.ProtocolException;

/** The first bytes on a connection are of another protocol than HTTP/1.1, so it did not understand the request. */
public final class OtherProtocolException extends ProtocolException {
    private static final long serialVersionUID = 1L;

    /** What the peer speaks. */
    public enum Spoken { GRPC, TLS, OTHER }

    private final Spoken spoken;

    OtherProtocolException(Spoken spoken) {
        super("not an answer of HTTP/1.1");
        this.spoken = spoken;
    }

    /** Returns what the peer speaks. */
    public Spoken spoken() {
        return spoken;
    }
}
