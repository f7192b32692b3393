package io.snowraft.internal.http;

import java.io.IOException;

/** Reports a token that would leave this host in clear text. */
public final class ClearTextException extends IOException {
    private static final long serialVersionUID = 1L;

    ClearTextException() {
        super("a token without a pin is not sent to another host in clear text; use a token with a pin, or give a CA");
    }
}
