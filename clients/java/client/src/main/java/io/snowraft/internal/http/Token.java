package io.snowraft.internal.http;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** An API token. {@code pin} is the pin of the cluster's authority; empty if the token has none. */
public record Token(String text, String pin) {
    private static final String PREFIX = "snowraft";
    private static final int SECRET_BYTES = 32;
    private static final int PIN_BYTES = 32;
    private static final int SECRET_CHARACTERS = 52;
    private static final int CHECKSUM_CHARACTERS = 7;

    /** Parses the text of a token. No message of an error contains the text. */
    public static Token parse(String text) {
        String[] parts = text.split("_", -1);
        if (parts.length != 3 && parts.length != 4 || !parts[0].equals(PREFIX)) {
            throw new IllegalArgumentException("not a Snowraft token: expected snowraft_ID_SECRET or snowraft_ID_SECRET_PIN");
        }
        long id = parseId(parts[1]);
        int length = SECRET_CHARACTERS + CHECKSUM_CHARACTERS;
        if (parts[2].length() != length) {
            throw new IllegalArgumentException("token: secret of " + parts[2].length() + " characters: expected " + length
                    + "; copy the whole token again");
        }
        byte[] secret = Base32.decode(parts[2].substring(0, SECRET_CHARACTERS), SECRET_BYTES, "token: secret");
        if (!checksum(id, secret).equals(parts[2].substring(SECRET_CHARACTERS))) {
            throw new IllegalArgumentException("token: the checksum does not match; copy the whole token again");
        }
        String pin = parts.length == 4 ? parts[3] : "";
        if (!pin.isEmpty() || parts.length == 4) {
            checkPin(pin, "token: pin");
        }
        return new Token(text, pin);
    }

    /** Checks the text of a pin. */
    static void checkPin(String pin, String what) {
        Base32.decode(pin, PIN_BYTES, what);
    }

    private static long parseId(String digits) {
        try {
            long id = Long.parseUnsignedLong(digits);
            if (id != 0 && Long.toUnsignedString(id).equals(digits)) {
                return id;
            }
        } catch (NumberFormatException e) {
            // the exception below explains it without the text
        }
        throw new IllegalArgumentException("token: expected a decimal ID of at least 1 after the first _");
    }

    private static String checksum(long id, byte[] secret) {
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(Long.BYTES).putLong(id).flip());
        crc.update(secret);
        return Base32.encode(ByteBuffer.allocate(Integer.BYTES).putInt((int) crc.getValue()).array());
    }

    /** Returns no part of the secret. */
    @Override
    public String toString() {
        return "token " + text.split("_", -1)[1];
    }
}
