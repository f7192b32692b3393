package io.snowraft.internal.http;

/** Base32 in lower case without padding (RFC 4648), the encoding of tokens and pins. */
final class Base32 {
    private static final String DIGITS = "abcdefghijklmnopqrstuvwxyz234567";

    private Base32() {
    }

    static String encode(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        int bits = 0;
        int held = 0;
        for (byte b : bytes) {
            bits = bits << 8 | b & 0xff;
            for (held += 8; held >= 5; held -= 5) {
                text.append(DIGITS.charAt(bits >> held - 5 & 31));
            }
            bits &= (1 << held) - 1;
        }
        if (held > 0) {
            text.append(DIGITS.charAt(bits << 5 - held & 31));
        }
        return text.toString();
    }

    /** Decodes the one text of that many bytes. The message of an error begins with {@code what} and does not contain the text. */
    static byte[] decode(String text, int size, String what) {
        int length = (size * 8 + 4) / 5;
        if (text.length() != length) {
            throw new IllegalArgumentException(what + " of " + text.length() + " characters: expected " + length);
        }
        byte[] bytes = new byte[size];
        int bits = 0;
        int held = 0;
        int at = 0;
        for (int i = 0; i < length; i++) {
            int digit = DIGITS.indexOf(text.charAt(i));
            if (digit < 0) {
                throw new IllegalArgumentException(what + ": character " + (i + 1) + " is not one of a-z and 2-7");
            }
            bits = bits << 5 | digit;
            held += 5;
            if (held >= 8) {
                held -= 8;
                bytes[at++] = (byte) (bits >> held);
                bits &= (1 << held) - 1;
            }
        }
        if (bits != 0) {
            throw new IllegalArgumentException(what + ": the last character is wrong");
        }
        return bytes;
    }
}
