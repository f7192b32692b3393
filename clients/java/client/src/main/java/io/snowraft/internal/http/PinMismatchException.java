package io.snowraft.internal.http;

import java.security.cert.CertificateException;

/** Reports a server whose certificate no authority with a given pin issued. */
public final class PinMismatchException extends CertificateException {
    private static final long serialVersionUID = 1L;

    PinMismatchException(String message) {
        super(message);
    }
}
