package io.snowraft.internal.http;

/** The address of a member's HTTP port. Two addresses are equal if their texts are. */
public record Address(String host, int port) {
    /** The HTTP port of members by default. */
    public static final int DEFAULT_PORT = 7701;

    /** Parses host:port, or a host with the default port. An IPv6 address with a port is in brackets. */
    public static Address parse(String text) {
        String host = text;
        int port = DEFAULT_PORT;
        int colon = text.lastIndexOf(':');
        boolean bare = text.indexOf(':') != colon && !text.startsWith("["); // an IPv6 address without a port
        if (colon >= 0 && !bare && !text.endsWith("]")) {
            host = text.substring(0, colon);
            port = parsePort(text.substring(colon + 1));
        }
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        if (host.isEmpty() || port < 1 || host.chars().anyMatch(c -> c <= ' ' || c >= 0x7f || c == '/' || c == '[' || c == ']' || c == '@')) {
            throw new IllegalArgumentException("member address \"" + text + "\": expected host:port");
        }
        return new Address(host, port);
    }

    /** Returns a port; 0 if the text is none. */
    private static int parsePort(String digits) {
        if (digits.isEmpty() || digits.length() > 5 || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return 0;
        }
        int port = Integer.parseInt(digits);
        return port <= 65535 ? port : 0;
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
