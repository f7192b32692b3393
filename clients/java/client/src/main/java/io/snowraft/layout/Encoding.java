package io.snowraft.layout;

/**
 * A way to write an ID as text: a number in some base, the most significant digit first, without padding. IDs count as unsigned. Texts
 * of equal length sort as their IDs do.
 */
public enum Encoding {
    /** The digits 0-9. */
    DECIMAL("dec", "0123456789"),
    /** The digits 0-9a-f. Decoding takes either case and a prefix 0x. */
    HEX("hex", "0123456789abcdef"),
    /** Crockford's: 0-9A-Z without I, L, O and U. Decoding takes either case, I and L for 1 and O for 0. */
    BASE32("base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
    /** The digits 0-9a-z. Decoding takes either case. */
    BASE36("base36", "0123456789abcdefghijklmnopqrstuvwxyz"),
    /** Bitcoin's digits: 1-9A-Za-z without I, O and l. */
    BASE58("base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
    /** The digits 0-9A-Za-z. */
    BASE62("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    private static final int MAX_TEXT = 64;

    private final String text;
    private final String digits;

    Encoding(String text, String digits) {
        this.text = text;
        this.digits = digits;
    }

    /** Returns the encoding of a name: dec, hex, base32, base36, base58 or base62. */
    public static Encoding parse(String name) {
        for (Encoding encoding : values()) {
            if (encoding.text.equals(name)) {
                return encoding;
            }
        }
        throw new IllegalArgumentException("unknown encoding \"" + name + "\", expected dec, hex, base32, base36, base58 or base62");
    }

    /** Returns an ID as text. */
    public String encode(long id) {
        int base = digits.length();
        StringBuilder reversed = new StringBuilder();
        long n = id;
        do {
            reversed.append(digits.charAt((int) Long.remainderUnsigned(n, base)));
            n = Long.divideUnsigned(n, base);
        } while (n != 0);
        return reversed.reverse().toString();
    }

    /**
     * Returns the ID of a text of 1 to 64 digits, without a sign, space or separator. Leading zeros are accepted. It throws an
     * {@link IllegalArgumentException} if the text has another form, or exceeds 64 bits.
     */
    public long decode(String s) {
        if (s.length() > MAX_TEXT) {
            throw new IllegalArgumentException("ID of " + s.length() + " characters, expected at most " + MAX_TEXT);
        }
        int start = this == HEX && (s.startsWith("0x") || s.startsWith("0X")) ? 2 : 0;
        if (s.length() == start) {
            throw new IllegalArgumentException("ID \"" + s + "\" has no digits, expected at least one " + text + " digit");
        }
        int base = digits.length();
        long n = 0;
        for (int i = start; i < s.length(); i++) {
            int digit = digit(s.charAt(i));
            if (digit < 0) {
                throw new IllegalArgumentException("character " + (i + 1) + " of ID \"" + s + "\" is not a " + text + " digit, expected " + digits);
            }
            long product = n * base;
            if (Math.multiplyHigh(n, base) + (n >> 63 & base) != 0 || Long.compareUnsigned(product + digit, product) < 0) {
                throw new IllegalArgumentException("ID \"" + s + "\" in " + text + " exceeds 64 bits");
            }
            n = product + digit;
        }
        return n;
    }

    private int digit(char c) {
        return switch (this) {
            case HEX, BASE36 -> c < 0x80 ? digits.indexOf(Character.toLowerCase(c)) : -1;
            case BASE32 -> switch (c) {
                case 'O', 'o' -> 0;
                case 'I', 'i', 'L', 'l' -> 1;
                default -> c < 0x80 ? digits.indexOf(Character.toUpperCase(c)) : -1;
            };
            default -> digits.indexOf(c);
        };
    }

    /** Returns the name, as {@link #parse} reads it. */
    @Override
    public String toString() {
        return text;
    }
}
