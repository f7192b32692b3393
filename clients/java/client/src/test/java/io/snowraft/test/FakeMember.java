package io.snowraft.test;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A member that answers requests by a script. It records all bytes that it gets. */
public final class FakeMember implements AutoCloseable {
    /** Makes the answer to a request. */
    public interface Script {
        /** Returns the bytes of an answer, or null to close the connection without one. */
        String answer(Request request) throws Exception;
    }

    /** A request. {@code head} has the request line and headers. */
    public record Request(String head, String body, int number) {
        public String path() {
            return head.split(" ")[1];
        }
    }

    private final ServerSocket server;
    private final Script script;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();

    public FakeMember(Script script) throws IOException {
        this(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), script);
    }

    public FakeMember(ServerSocket server, Script script) {
        this.server = server;
        this.script = script;
        Thread thread = new Thread(this::accept, "fake-member");
        thread.setDaemon(true);
        thread.start();
    }

    public String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    /** Returns the requests so far. */
    public List<Request> requests() {
        return List.copyOf(requests);
    }

    /** Returns the requests so far whose path begins so. */
    public List<Request> requests(String path) {
        return requests.stream().filter(r -> r.path().startsWith(path)).toList();
    }

    /** Returns all bytes that arrived, in clear text or decrypted. */
    public String received() {
        synchronized (received) {
            return received.toString(StandardCharsets.ISO_8859_1);
        }
    }

    /** Sends an answer that no request asked for on all connections. */
    public void send(String answer) throws IOException {
        for (Socket socket : open) {
            socket.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Returns an answer with a JSON body. */
    public static String ok(String json) {
        return answer(200, json);
    }

    public static String answer(int status, String json) {
        return "HTTP/1.1 " + status + " X\r\nContent-Type: application/json\r\nContent-Length: " + json.getBytes(StandardCharsets.UTF_8).length
                + "\r\n\r\n" + json;
    }

    /** Returns an error of a member. */
    public static String error(int status, String reason) {
        return answer(status, "{\"code\":14,\"message\":\"because of " + reason + "\",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\","
                + "\"reason\":\"" + reason + "\",\"domain\":\"snowraft\",\"metadata\":{}}]}");
    }

    private void accept() {
        try {
            for (;;) {
                Socket socket = server.accept();
                open.add(socket);
                Thread thread = new Thread(() -> serve(socket), "fake-connection");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            for (;;) {
                String head = head(in);
                int length = 0;
                for (String line : head.split("\r\n")) {
                    if (line.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
                        length = Integer.parseInt(line.substring(15).strip());
                    }
                }
                byte[] body = in.readNBytes(length);
                record(body, length);
                Request request = new Request(head, new String(body, StandardCharsets.UTF_8), requests.size());
                requests.add(request);
                String answer = script.answer(request);
                if (answer == null) {
                    return;
                }
                socket.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
                socket.getOutputStream().flush();
            }
        } catch (IOException e) {
            // the client closed the connection
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            open.remove(socket);
        }
    }

    private String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int b = in.read();
            if (b < 0) {
                throw new IOException("end");
            }
            record(new byte[] {(byte) b}, 1);
            head.append((char) b);
        }
        return head.toString();
    }

    private void record(byte[] bytes, int length) {
        synchronized (received) {
            received.write(bytes, 0, length);
        }
    }

    @Override
    public void close() {
        try {
            server.close();
            for (Socket socket : open) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
