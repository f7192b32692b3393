package io.snowraft.internal.http;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.net.ssl.SSLSocket;

/**
 * A connection of HTTP/1.1 that carries one request at a time. Only one thread uses it; any thread may close it.
 */
public final class HttpConnection implements Closeable {
    /** The greatest body of an answer, in bytes: a million IDs of a layout with narrow sequences. */
    private static final int MAX_BODY = 64 << 20;

    private final Address address;
    private final Socket raw;
    private final Socket socket; // the raw one, or TLS on top of it
    private final boolean pinned; // a pin verified the peer
    private final HttpReader reader;
    private final OutputStream out;
    private volatile Deadline deadline; // of the request in progress; null if there is none
    private long usedAt;

    private HttpConnection(Address address, Socket raw, Socket socket, boolean pinned) throws IOException {
        this.address = address;
        this.raw = raw;
        this.socket = socket;
        this.pinned = pinned;
        this.reader = new HttpReader(socket, MAX_BODY);
        this.out = socket.getOutputStream();
    }

    /** Receives connections before their handshake, so that another thread can close them. */
    public interface Watcher {
        /** Is called with a socket that is about to connect, and its deadline. */
        void opening(Socket socket, Deadline deadline) throws IOException;
    }

    /** Connects to one of the addresses of a host and secures the connection. */
    public static HttpConnection open(Address address, Trust trust, Deadline deadline, Watcher watcher) throws IOException {
        InetAddress[] all = InetAddress.getAllByName(address.host());
        IOException failure = new UnknownHostException(address.host());
        for (int i = 0; i < all.length; i++) {
            Deadline mine = deadline.within(Duration.ofNanos(Math.max(1, deadline.left() / (all.length - i))));
            Socket raw = new Socket();
            try {
                watcher.opening(raw, mine);
                raw.setTcpNoDelay(true);
                raw.connect(new InetSocketAddress(all[i], address.port()), mine.socketTimeout());
                return new HttpConnection(address, raw, trust.secure(raw, address, mine), trust.serverName() != null);
            } catch (IOException | RuntimeException e) {
                raw.close();
                if (!(e instanceof IOException io)) {
                    throw e;
                }
                failure = io;
            }
        }
        throw failure;
    }

    /**
     * Sends a request and reads its answer.
     *
     * @param token   the API token; empty for none
     * @param receipt the latest receipt in base64, empty at first; null for none
     * @param body    the body; null for none
     */
    public HttpResponse exchange(String verb, String path, String token, String receipt, byte[] body, Deadline until) throws IOException {
        deadline = until;
        try {
            out.write(request(verb, path, token, receipt, body, until));
            out.flush();
            return reader.read(until);
        } finally {
            deadline = null;
            usedAt = System.nanoTime();
        }
    }

    private byte[] request(String verb, String path, String token, String receipt, byte[] body, Deadline until) {
        StringBuilder head = new StringBuilder(256);
        head.append(verb).append(' ').append(path).append(" HTTP/1.1\r\nHost: ").append(address);
        head.append("\r\nUser-Agent: snowraft-java\r\nAccept: application/json\r\nGrpc-Timeout: ")
                .append(Math.max(1, Math.min(25_000, until.leftMillis()))).append("m\r\n");
        if (!token.isEmpty()) {
            head.append("Authorization: Bearer ").append(token).append("\r\n");
        }
        if (receipt != null) {
            head.append("Snowraft-Receipt: ").append(receipt).append("\r\n");
        }
        if (body != null) {
            head.append("Content-Type: application/json\r\nContent-Length: ").append(body.length).append("\r\n");
        }
        ByteArrayOutputStream request = new ByteArrayOutputStream(512);
        request.writeBytes(head.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII));
        if (body != null) {
            request.writeBytes(body);
        }
        return request.toByteArray();
    }

    /** Returns the address of the member. */
    public Address address() {
        return address;
    }

    /** Reports whether a byte of the answer to the last request arrived. */
    public boolean answerBegan() {
        return reader.began();
    }

    /**
     * Reports whether the peer never answered as HTTP, and did not select HTTP/1.1 in the handshake of TLS, which members do on ports for
     * HTTP. Only a pin shows that the peer is a member.
     */
    public boolean speaksNoHttp() {
        return pinned && !reader.answered() && socket instanceof SSLSocket secured && secured.getApplicationProtocol().isEmpty();
    }

    /** Reports without waiting whether the peer has sent more than the answers to the requests so far. */
    public boolean hasUnread() {
        try {
            return reader.hasRest() || socket != raw && raw.getInputStream().available() > 0;
        } catch (IOException e) {
            return true;
        }
    }

    /** Returns the time since the last request. */
    public Duration idle() {
        return Duration.ofNanos(System.nanoTime() - usedAt);
    }

    /** Closes the connection if the deadline of its request has passed, for peers that send or read a byte at a time. */
    public void closeIfOverdue() {
        Deadline until = deadline;
        if (until != null && until.passed()) {
            close();
        }
    }

    /** Closes the connection without a farewell of TLS, which could block. */
    @Override
    public void close() {
        try {
            raw.close();
        } catch (IOException e) {
            // nothing is lost: each request has been answered or has failed
        }
    }
}
