import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.snowraft.client.Generator;
import io.snowraft.client.Sequence;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executors;

/** An order service: POST /orders answers an ID and a number, such as {"id":"253081673229410738","number":"ORD-00001"}. */
public class Orders {
    private final Generator ids;
    private final Sequence orders;

    Orders(SnowraftClient client) {
        ids = client.generator(); // issues in this process, also while no member can be reached
        ids.ready(Duration.ofSeconds(10));
        orders = client.sequence("orders");
    }

    void place(HttpExchange exchange) throws IOException {
        String key = exchange.getRequestHeaders().getFirst("Idempotency-Key"); // a repeated request gets the same number
        if (!exchange.getRequestMethod().equals("POST") || key == null) {
            answer(exchange, 400, "expected POST /orders with the header Idempotency-Key\n");
            return;
        }
        try {
            String number = orders.takeOnce(key, 1).text(0);
            // A real service inserts the order here, with a unique index on the number.
            answer(exchange, 201, "{\"id\":\"" + ids.next() + "\",\"number\":\"" + number + "\"}");
        } catch (SnowraftException e) {
            answer(exchange, 503, e.getMessage() + "\n"); // the customer repeats the request
        }
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        SnowraftClient client = SnowraftClient.builder()
                .addresses(System.getenv("SNOWRAFT_MEMBERS").split(",")) // some addresses of HTTP; the client learns the others
                .token(System.getenv("SNOWRAFT_TOKEN"))
                .timeout(Duration.ofSeconds(5))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(client::close)); // releases the worker
        String[] listen = System.getenv("LISTEN").split(":");
        HttpServer server = HttpServer.create(new InetSocketAddress(listen[0], Integer.parseInt(listen[1])), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/orders", new Orders(client)::place);
        server.start();
    }
}
