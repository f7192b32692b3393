package io.snowraft.app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Generator;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.dev.DevCluster;
import io.snowraft.dev.SlowClock;
import io.snowraft.dev.Until;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

class StarterTest {
    private static final int ROWS = 10_000;
    private static final int BATCH = 100;

    private static DevCluster cluster;

    @BeforeAll
    static void startCluster() {
        cluster = DevCluster.start();
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    /** Starts the application with the usual properties and others, of which later ones prevail. */
    static ConfigurableApplicationContext start(String... properties) {
        return new SpringApplicationBuilder(App.class)
                .properties("server.port=0", "spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID(), "spring.jpa.hibernate.ddl-auto=create",
                        "spring.jpa.open-in-view=false", "spring.jpa.properties.hibernate.jdbc.batch_size=" + BATCH,
                        "spring.jpa.properties.hibernate.session_factory.statement_inspector=" + Statements.class.getName(),
                        "management.endpoints.web.exposure.include=health,metrics", "management.endpoint.health.show-details=always",
                        "snowraft.timeout=10m", "snowraft.ready-timeout=10m")
                .properties(properties).run();
    }

    private static ConfigurableApplicationContext startAtCluster(String... properties) {
        return start(Stream.concat(Stream.of("snowraft.addresses=" + cluster.addresses()), Stream.of(properties)).toArray(String[]::new));
    }

    @Test
    void frameworksShareTheGenerator() {
        try (ConfigurableApplicationContext app = startAtCluster()) {
            List<Order> orders = Stream.generate(Order::new).limit(ROWS).toList();
            long before = app.getBean(Generator.class).next();
            Statements.ALL.clear();
            app.getBean(OrderRepository.class).saveAll(orders);
            assertTrue(Statements.ALL.stream().allMatch(sql -> sql.startsWith("insert into ")), Statements.ALL::toString);
            assertTrue(Statements.ALL.size() <= ROWS / BATCH, () -> Statements.ALL.size() + " statements");
            assertEquals(ROWS, new HashSet<>(orders.stream().map(order -> order.id).toList()).size());
            assertEquals(ROWS, app.getBean(OrderRepository.class).count());

            OrderRow row = new OrderRow();
            app.getBean(OrderRowMapper.class).insert(row);
            long after = app.getBean(Generator.class).next();
            assertTrue(orders.stream().allMatch(order -> before < order.id && order.id < row.id) && row.id < after, before + " to " + after);

            Invoice invoice = app.getBean(InvoiceRepository.class).save(new Invoice());
            long worker = app.getBean("invoiceIds", Generator.class).lanes().get(0).worker();
            assertEquals(worker, app.getBean(SnowraftClient.class).getLayout("default").decode(invoice.id).worker());
        }
    }

    @Test
    void insertsContinueWhileMembersAreStopped() {
        try (ConfigurableApplicationContext app = startAtCluster()) {
            app.getBean(SlowClock.class).slowDown(app.getBean(Generator.class));
            cluster.freeze();
            try {
                for (int i = 0; i < 100; i++) {
                    app.getBean(OrderRepository.class).save(new Order());
                    app.getBean(OrderRowMapper.class).insert(new OrderRow());
                }
            } finally {
                cluster.thaw();
            }
            assertEquals(200, app.getBean(OrderRepository.class).count());
        }
    }

    @Test
    void actuatorShowsTheGenerator() throws Exception {
        try (ConfigurableApplicationContext app = startAtCluster("snowraft.fail-fast=true")) {
            String up = healthy(app);
            assertTrue(up.contains("\"status\":\"UP\""), up);
            assertTrue(up.matches(".*\"snowraftGenerator\":\\{\"state\":\"issuing\",\"workers\":\\[\"\\d+\"],\"windowEnd\":\"20.*Z\"}.*"), up);
            Until.holds(() -> metric(app, "snowraft.generator.issuing?tag=generator:snowraftGenerator") == 1);
            Until.holds(() -> metric(app, "snowraft.generator.workers?tag=generator:invoiceIds") == 1);
            Until.holds(() -> metric(app, "snowraft.windows.extended") > 0);
            Until.holds(() -> metric(app, "snowraft.workers.acquired") >= 2); // of each generator
            Until.holds(() -> metric(app, "snowraft.calls?tag=outcome:success") >= 3); // for each worker, and an extension
            double end = metric(app, "snowraft.generator.window.end.timestamp?tag=generator:snowraftGenerator");
            assertTrue(end > 1.7e9, () -> "the window ends at " + end);

            cluster.freeze();
            try {
                Until.holds(() -> get(app, "health/snowraft").body().contains("\"snowraftGenerator\":{\"state\":\"refusing\",\"reason\":\"WINDOW_ENDED\","
                        + "\"error\":\""));
                HttpResponse<String> down = get(app, "health/snowraft");
                assertEquals(503, down.statusCode(), down::body);
                assertTrue(down.body().contains("\"status\":\"DOWN\""), down::body);
                assertEquals(0, metric(app, "snowraft.generator.issuing?tag=generator:snowraftGenerator"));
                SnowraftException e = assertThrows(SnowraftException.class, () -> app.getBean(OrderRepository.class).save(new Order()));
                assertEquals(Reason.WINDOW_ENDED, e.reason());
                Until.holds(() -> metric(app, "snowraft.windows.failures") > 0);
            } finally {
                cluster.thaw();
            }
            healthy(app);
        }
    }

    @Test
    void shutdownReleasesTheWorkers() {
        ConfigurableApplicationContext app = startAtCluster("snowraft.holder=shop-1", "snowraft.lanes=2");
        SnowraftClient client = app.getBean(SnowraftClient.class);
        try (app) {
            Until.holds(() -> holders().contains("shop-1/0") && holders().contains("shop-1/1"));
        }
        assertFalse(holders().contains("shop-1/0") || holders().contains("shop-1/1"), () -> holders().toString());
        SnowraftException e = assertThrows(SnowraftException.class, client::nextId);
        assertEquals(Reason.CLOSED, e.reason());
    }

    /** Returns the holders of the workers that are held. */
    private static List<String> holders() {
        return cluster.command("worker", "list").lines().map(line -> line.split(" +")).filter(words -> words.length > 2 && words[1].equals("held"))
                .map(words -> words[2]).toList();
    }

    /** Waits until the generators are healthy, and returns the answer that says so. */
    private static String healthy(ConfigurableApplicationContext app) throws IOException, InterruptedException {
        HttpResponse<String> answer = get(app, "health/snowraft");
        while (answer.statusCode() != 200) {
            answer = get(app, "health/snowraft");
        }
        return answer.body();
    }

    private static HttpResponse<String> get(ConfigurableApplicationContext app, String endpoint) throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + app.getEnvironment().getProperty("local.server.port") + "/actuator/" + endpoint);
        return HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static double metric(ConfigurableApplicationContext app, String name) throws IOException, InterruptedException {
        HttpResponse<String> answer = get(app, "metrics/" + name);
        assertEquals(200, answer.statusCode(), answer::body);
        return Double.parseDouble(answer.body().replaceAll(".*?\"value\":([^}]*)}.*", "$1"));
    }
}
