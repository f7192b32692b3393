package io.snowraft.driver;

import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Drives the client for the conformance suite: it reads one request per line from standard input, and writes one answer per line to standard
 * output. Requests run concurrently. When the input ends, it closes all clients and exits.
 */
public final class Driver {
    private final PrintStream out;
    private final Operations operations = new Operations();

    private Driver(PrintStream out) {
        this.out = out;
    }

    /** Runs the driver. It takes no arguments. */
    public static void main(String[] args) throws IOException, InterruptedException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        new Driver(out).run(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.exit(0);
    }

    private void run(BufferedReader in) throws IOException, InterruptedException {
        ExecutorService requests = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "request");
            thread.setDaemon(true);
            return thread;
        });
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> request = Json.parse(line);
            requests.execute(() -> answer(request));
        }
        operations.close(); // ends the requests in progress
        requests.shutdown();
        requests.awaitTermination(10, TimeUnit.SECONDS);
    }

    @SuppressWarnings("unchecked") // args is an object
    private void answer(Map<String, Object> request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.get("id"));
        try {
            Args args = new Args((Map<String, Object>) request.getOrDefault("args", Map.of()));
            operations.run((Long) request.get("id"), (String) request.get("op"), args, answer);
        } catch (SnowraftException e) {
            answer.put("error", error(e));
        } catch (UnsupportedOperationException e) {
            answer.put("error", error("UNSUPPORTED", e.getMessage()));
        } catch (IllegalArgumentException e) {
            answer.put("error", error("INVALID_ARGUMENT", e.getMessage()));
        } catch (Exception e) {
            answer.put("error", error("INTERNAL", e.toString()));
        }
        synchronized (out) {
            out.println(Json.write(answer));
            out.flush();
        }
    }

    static Map<String, Object> error(SnowraftException e) {
        Map<String, Object> error = new LinkedHashMap<>();
        error.put("reason", e.reason() == Reason.OTHER ? e.reasonName() : e.reason().name());
        error.put("message", e.getMessage());
        error.put("retry", e.retry());
        error.put("unknown", e.unknown());
        return error;
    }

    private static Map<String, Object> error(String reason, String message) {
        return Map.of("reason", reason, "message", String.valueOf(message), "retry", false, "unknown", false);
    }
}
