package io.snowraft.internal.http;

import io.snowraft.internal.http.OtherProtocolException.Spoken;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ProtocolException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/**
 * Reads answers of HTTP/1.1 from a connection. A peer that sends too many or malformed headers, or too long a body, fails with a
 * {@link ProtocolException}. Memory grows only with bytes that have arrived.
 */
final class HttpReader {
    /** The greatest size of a status line and headers, and of trailers. */
    static final int MAX_HEAD = 16 << 10;
    /** The greatest number of interim answers before an answer. */
    private static final int MAX_INTERIM = 4;
    private static final int BUFFER = 16 << 10;

    private final Socket socket;
    private final InputStream in;
    private final int maxBody;
    private final byte[] buffer = new byte[BUFFER];
    private int at;
    private int end;

    private Deadline deadline;
    private int headBytes;
    private boolean began;
    private boolean answered;

    HttpReader(Socket socket, int maxBody) throws IOException {
        this.socket = socket;
        this.in = socket.getInputStream();
        this.maxBody = maxBody;
    }

    /** Reports whether a byte of the answer to the last request has arrived. */
    boolean began() {
        return began;
    }

    /** Reports whether the peer ever answered as HTTP, be it with an interim answer. */
    boolean answered() {
        return answered;
    }

    /** Reports without waiting whether bytes have arrived that no request asked for. */
    boolean hasRest() throws IOException {
        return at < end || in.available() > 0;
    }

    /** Reads one answer to a request that is not HEAD. */
    HttpResponse read(Deadline until) throws IOException {
        deadline = until;
        began = false;
        for (int i = 0; i <= MAX_INTERIM; i++) {
            headBytes = 0;
            Head head = head();
            if (head.status >= 200) {
                byte[] body = body(head);
                boolean reusable = !head.close && head.bounded() && at == end;
                return new HttpResponse(head.status, head.contentType, body, reusable);
            }
            if (head.status == 101) {
                break;
            }
        }
        throw new ProtocolException("unexpected interim answers");
    }

    private static final class Head {
        private int status;
        private String contentType = "";
        private boolean close;
        private boolean chunked;
        private long length = -1;

        private boolean bounded() {
            return chunked || length >= 0 || status == 204 || status == 304;
        }
    }

    private Head head() throws IOException {
        checkProtocol();
        String line = line();
        Head head = new Head();
        if (!line.matches("HTTP/1\\.[01] [1-9][0-9][0-9]( .*)?")) {
            throw new ProtocolException("not an answer of HTTP/1.1");
        }
        answered = true;
        head.status = Integer.parseInt(line.substring(9, 12));
        head.close = line.startsWith("HTTP/1.0");
        for (line = line(); !line.isEmpty(); line = line()) {
            header(head, line);
        }
        if (head.chunked && head.length >= 0) {
            throw new ProtocolException("both Content-Length and Transfer-Encoding");
        }
        return head;
    }

    /** Throws an exception if the first bytes of a peer cannot be those of HTTP. A peer that answered before understood the request. */
    private void checkProtocol() throws IOException {
        if (answered || at == end && !fill() || buffer[at] == 'H') {
            return;
        }
        boolean settings = end - at >= 5 && buffer[at + 3] == 4 && buffer[at + 4] == 0; // the first frame of HTTP/2
        boolean alert = end - at >= 2 && buffer[at] == 21 && buffer[at + 1] == 3;
        throw new OtherProtocolException(settings ? Spoken.GRPC : alert ? Spoken.TLS : Spoken.OTHER);
    }

    private static void header(Head head, String line) throws ProtocolException {
        int colon = line.indexOf(':');
        if (colon < 1 || line.charAt(0) <= ' ' || line.charAt(colon - 1) <= ' ') {
            throw new ProtocolException("malformed header");
        }
        String value = line.substring(colon + 1).strip();
        switch (line.substring(0, colon).toLowerCase(Locale.ROOT)) {
            case "content-length" -> {
                if (head.length >= 0 || value.isEmpty() || value.length() > 18 || !value.chars().allMatch(c -> c >= '0' && c <= '9')) {
                    throw new ProtocolException("malformed Content-Length");
                }
                head.length = Long.parseLong(value);
            }
            case "transfer-encoding" -> {
                if (head.chunked || !value.equalsIgnoreCase("chunked")) {
                    throw new ProtocolException("unknown Transfer-Encoding");
                }
                head.chunked = true;
            }
            case "connection" -> head.close |= value.equalsIgnoreCase("close");
            case "content-type" -> head.contentType = value.toLowerCase(Locale.ROOT);
            default -> {
            }
        }
    }

    private byte[] body(Head head) throws IOException {
        if (head.status == 204 || head.status == 304) {
            return new byte[0];
        }
        Body body = new Body();
        if (head.chunked) {
            chunks(body);
        } else if (head.length >= 0) {
            body.read(head.length);
        } else {
            head.close = true;
            body.readToEnd();
        }
        return body.bytes();
    }

    private void chunks(Body body) throws IOException {
        headBytes = 0;
        for (;;) {
            String size = line();
            int semicolon = size.indexOf(';');
            size = (semicolon < 0 ? size : size.substring(0, semicolon)).strip();
            if (!size.matches("[0-9a-fA-F]{1,8}")) {
                throw new ProtocolException("malformed chunk");
            }
            long length = Long.parseLong(size, 16);
            if (length == 0) {
                break;
            }
            body.read(length);
            headBytes = 0;
            if (!line().isEmpty()) {
                throw new ProtocolException("malformed chunk");
            }
        }
        while (!line().isEmpty()) { // trailers
            continue;
        }
    }

    /** A body that grows as its bytes arrive. */
    private final class Body {
        private byte[] bytes = new byte[1024];
        private int size;

        private void read(long length) throws IOException {
            if (length > maxBody - size) {
                throw new ProtocolException("answer of more than " + maxBody + " bytes");
            }
            for (int left = (int) length; left > 0;) {
                if (at == end && !fill()) {
                    throw new EOFException("the connection ended within the answer");
                }
                left -= take(left);
            }
        }

        private void readToEnd() throws IOException {
            while (at < end || fill()) {
                if (size == maxBody) {
                    throw new ProtocolException("answer of more than " + maxBody + " bytes");
                }
                take(maxBody - size);
            }
        }

        private int take(int most) {
            int n = Math.min(most, end - at);
            if (bytes.length - size < n) {
                bytes = Arrays.copyOf(bytes, Math.max(size + n, (int) Math.min(2L * bytes.length, maxBody)));
            }
            System.arraycopy(buffer, at, bytes, size, n);
            at += n;
            size += n;
            return n;
        }

        private byte[] bytes() {
            return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
        }
    }

    /** Reads a line that ends with CR LF, without these. */
    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (;;) {
            if (at == end && !fill()) {
                throw new EOFException(began ? "the connection ended within the answer" : "the connection was closed");
            }
            int from = at;
            while (at < end && buffer[at] != '\n') {
                at++;
            }
            headBytes += at - from + 1;
            if (headBytes > MAX_HEAD) {
                throw new ProtocolException("headers of more than " + MAX_HEAD + " bytes");
            }
            line.append(new String(buffer, from, at - from, StandardCharsets.ISO_8859_1));
            if (at < end) {
                at++;
                int last = line.length() - 1;
                if (last < 0 || line.charAt(last) != '\r' || line.indexOf("\r") != last) {
                    throw new ProtocolException("malformed line");
                }
                line.setLength(last);
                return line.toString();
            }
        }
    }

    private boolean fill() throws IOException {
        socket.setSoTimeout(deadline.socketTimeout());
        int n = in.read(buffer, 0, buffer.length);
        at = 0;
        end = Math.max(0, n);
        began |= n > 0;
        return n > 0;
    }
}
