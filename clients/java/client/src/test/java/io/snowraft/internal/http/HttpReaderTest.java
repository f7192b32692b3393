package io.snowraft.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpReaderTest {
    private static final int MAX_BODY = 100_000;

    /** Reads the answer in these bytes, after which the peer closes the connection. */
    private static HttpResponse read(byte[] bytes) throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort()); Socket peer = server.accept()) {
            Thread writer = new Thread(() -> {
                try {
                    peer.getOutputStream().write(bytes);
                    peer.shutdownOutput();
                } catch (IOException e) {
                    // the reader refused the rest
                }
            });
            writer.start();
            return new HttpReader(client, MAX_BODY).read(Deadline.after(Duration.ofMinutes(5)));
        }
    }

    private static HttpResponse read(String text) throws IOException {
        return read(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static String body(HttpResponse response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    @Test
    void answersAreRead() throws IOException {
        HttpResponse plain = read("HTTP/1.1 200 OK\r\nContent-Type: Application/JSON\r\nContent-Length: 2\r\n\r\n{}");
        assertEquals("{} true application/json", body(plain) + " " + plain.reusable() + " " + plain.contentType());
        HttpResponse chunked = read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n00A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n");
        assertEquals("abc0123456789", body(chunked));
        assertTrue(chunked.reusable());
        assertEquals("rest", body(read("HTTP/1.1 200 OK\r\n\r\nrest")));
        assertEquals(204, read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").status());
        assertFalse(read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").reusable());
        assertFalse(read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").reusable());
        assertFalse(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx").reusable(), "bytes that no request asked for");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\n", "HTTP/2 200\r\n\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", "HTTP/1.1 200 OK\r\nA : x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc", "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 100 X\r\n\r\nHTTP/1.1 100 X\r\n\r\nHTTP/1.1 100 X\r\n\r\nHTTP/1.1 100 X\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n"})
    void hostileAnswersAreRefused(String text) {
        assertThrows(IOException.class, () -> read(text));
    }

    @Test
    void onlyTheFirstBytesOfAPeerShowAnotherProtocol() throws IOException {
        assertThrows(OtherProtocolException.class, () -> read("garbage\r\n"));
        ProtocolException interim = assertThrows(ProtocolException.class, () -> read("HTTP/1.1 100 Continue\r\n\r\ngarbage\r\n"));
        assertFalse(interim instanceof OtherProtocolException, "the peer understood the request");
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort()); Socket peer = server.accept()) {
            HttpReader reader = new HttpReader(client, MAX_BODY);
            Deadline deadline = Deadline.after(Duration.ofMinutes(5));
            peer.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            assertTrue(reader.read(deadline).reusable());
            peer.getOutputStream().write("garbage\r\n".getBytes(StandardCharsets.US_ASCII));
            ProtocolException kept = assertThrows(ProtocolException.class, () -> reader.read(deadline));
            assertFalse(kept instanceof OtherProtocolException, "the peer understood a request before");
        }
    }

    @Test
    void longAnswersAreRefused() {
        String head = "HTTP/1.1 200 OK\r\n";
        assertThrows(IOException.class, () -> read(head + "A: " + "x".repeat(20_000) + "\r\n\r\n"));
        assertThrows(IOException.class, () -> read(head + "A: b\r\n".repeat(4_000) + "\r\n"));
        assertThrows(IOException.class, () -> read(head + "\r\n" + "x".repeat(MAX_BODY + 1)));
        assertThrows(IOException.class, () -> read(head + "Transfer-Encoding: chunked\r\n\r\n" + "1\r\nx\r\n".repeat(MAX_BODY + 1) + "0\r\n\r\n"));
        assertThrows(IOException.class, () -> read(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + "A: b\r\n".repeat(4_000) + "\r\n"));
    }

    @Test
    void randomBytesNeverCauseAnotherException() {
        Random random = new Random(1);
        String[] parts = {"HTTP/1.1 200 OK", "\r\n", "\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked", "5", ": ", "x", "\u0000", "HTTP/1.1 100 X"};
        for (int i = 0; i < 2_000; i++) {
            StringBuilder text = new StringBuilder("HTTP/1.1 200 OK\r\n");
            for (int k = random.nextInt(12); k > 0; k--) {
                text.append(parts[random.nextInt(parts.length)]);
            }
            try {
                read(text.toString());
            } catch (IOException e) {
                // expected of most
            }
        }
    }

    @Test
    void silentPeersTimeOut() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort()); Socket peer = server.accept()) {
            peer.getOutputStream().write("HTTP/1.1 200".getBytes(StandardCharsets.US_ASCII));
            HttpReader reader = new HttpReader(client, MAX_BODY);
            assertThrows(SocketTimeoutException.class, () -> reader.read(Deadline.after(Duration.ofMillis(50))));
            assertTrue(reader.began());
        }
    }
}
