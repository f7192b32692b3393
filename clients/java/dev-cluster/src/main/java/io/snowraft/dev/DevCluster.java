package io.snowraft.dev;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/** The three members of {@code snowraft dev}, in a process of the repository's {@code bin/snowraft}. */
public final class DevCluster implements AutoCloseable {
    private static final Path PROGRAM = Path.of("..", "..", "..", "bin", "snowraft");
    private static final int ATTEMPTS = 20; // other processes may take a port meanwhile
    private static final int FIRST_PORT = 12_000; // below the ports of outgoing connections
    private static final int LAST_PORT = 31_000;
    private static final int MEMBERS = 3;
    private static final int PORTS = 10; // of a member
    private static final int HTTP = 1;
    private static final String MEMBERS_DATA = "members";
    private static final String TOKEN = "export SNOWRAFT_TOKEN=";

    private final Process process;
    private final int base;
    private final Path data;
    private String token = "";

    private DevCluster(Process process, int base, Path data) {
        this.process = process;
        this.base = base;
        this.data = data;
    }

    /** Starts the members of an open cluster, and returns when they issue IDs. */
    public static DevCluster start() {
        return start(false);
    }

    /** Starts the members of a cluster that requires TLS and a token. */
    public static DevCluster startSecured() {
        return start(true);
    }

    private static DevCluster start(boolean secured) {
        if (!Files.isExecutable(PROGRAM)) {
            throw new IllegalStateException(PROGRAM.toAbsolutePath().normalize() + " is missing; run \"make build\"");
        }
        for (int i = 0; i < ATTEMPTS; i++) {
            int base = freePorts();
            try {
                Path data = Files.createTempDirectory("snowraft-dev");
                List<String> line = new ArrayList<>(List.of(PROGRAM.toString(), "dev", "--port-base", Integer.toString(base), "--data-dir",
                        data.resolve(MEMBERS_DATA).toString(), "--log-level", "error"));
                if (secured) {
                    line.add("--secure");
                }
                Process process = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                DevCluster cluster = new DevCluster(process, base, data);
                if (cluster.isReady()) {
                    return cluster;
                }
                cluster.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        throw new IllegalStateException("the members did not start; see standard error");
    }

    /** Reads the output up to the table of members, which a cluster that is ready prints; the rest fits into the pipe. */
    private boolean isReady() throws IOException {
        BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.strip().startsWith(TOKEN)) {
                token = line.strip().substring(TOKEN.length());
            } else if (line.startsWith("MEMBER ")) {
                return true;
            }
        }
        return false;
    }

    private static int freePorts() {
        int number = MEMBERS * PORTS;
        for (;;) {
            int base = ThreadLocalRandom.current().nextInt(FIRST_PORT, LAST_PORT - number);
            if (Stream.iterate(base, p -> p + 1).limit(number).allMatch(DevCluster::isFree)) {
                return base;
            }
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the HTTP addresses of the members, separated by commas. */
    public String addresses() {
        return String.join(",", Stream.iterate(base + HTTP, p -> p + PORTS).limit(MEMBERS).map(p -> "127.0.0.1:" + p).toList());
    }

    /** Returns the token for applications; empty for an open cluster. */
    public String token() {
        return token;
    }

    /** Returns the PEM file of the authority that a secured cluster has. */
    public Path ca() {
        return data.resolve(MEMBERS_DATA).resolve("ca.pem");
    }

    /** Returns an address that no program listens at. */
    public static String deadAddress() {
        return "127.0.0.1:" + freePorts();
    }

    /** Returns the output of a command of snowraft that calls the members. */
    public String command(String... args) {
        try {
            List<String> line = new ArrayList<>(List.of(PROGRAM.toString()));
            line.addAll(List.of(args));
            line.addAll(List.of("--addr", "127.0.0.1:" + base));
            Process command = new ProcessBuilder(line).redirectErrorStream(true).start();
            command.getOutputStream().close();
            String output = new String(command.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (command.waitFor() != 0) {
                throw new IllegalStateException(List.of(args) + ": " + output);
            }
            return output;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Stops all members with SIGSTOP: their ports accept connections and do not answer. */
    public void freeze() {
        signal("STOP");
    }

    /** Ends a {@link #freeze}. */
    public void thaw() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            int code = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor();
            if (code != 0) {
                throw new IllegalStateException("kill -" + name + " " + process.pid() + ": exit code " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Kills the members and deletes their data. */
    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
        try (Stream<Path> files = Files.walk(data)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
