package io.snowraft.hibernate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Generator;
import io.snowraft.client.GeneratorOptions;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.dev.DevCluster;
import io.snowraft.dev.SlowClock;
import io.snowraft.hibernate.Orders.BoxedOrder;
import io.snowraft.hibernate.Orders.NamedOrder;
import io.snowraft.hibernate.Orders.PrimitiveOrder;
import io.snowraft.hibernate.Orders.ShortOrder;
import io.snowraft.hibernate.Orders.TextOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.hibernate.MappingException;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HibernateTest {
    private static final Duration LIMIT = Duration.ofMinutes(10);
    private static final int ROWS = 10_000;
    private static final int BATCH = 100;

    private static DevCluster cluster;

    private final SlowClock clock = new SlowClock();
    private final List<String> statements = Collections.synchronizedList(new ArrayList<>());
    private SnowraftClient client;
    private Generator ids;

    @BeforeAll
    static void startCluster() {
        cluster = DevCluster.start();
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @BeforeEach
    void connect() {
        client = SnowraftClient.builder().addresses(cluster.addresses()).timeout(LIMIT).clock(clock).build();
        ids = client.generator();
        ids.ready(LIMIT);
    }

    @AfterEach
    void disconnect() {
        client.close();
    }

    private SessionFactory open(Map<String, Object> settings, Class<?>... entities) {
        Configuration configuration = new Configuration();
        for (Class<?> entity : entities) {
            configuration.addAnnotatedClass(entity);
        }
        configuration.setProperty("hibernate.connection.url", "jdbc:h2:mem:" + UUID.randomUUID());
        configuration.setProperty("hibernate.hbm2ddl.auto", "create-drop");
        configuration.setProperty("hibernate.jdbc.batch_size", Integer.toString(BATCH));
        configuration.getProperties().putAll(settings);
        configuration.setStatementInspector((StatementInspector) sql -> {
            statements.add(sql);
            return sql;
        });
        return configuration.buildSessionFactory();
    }

    @Test
    void idsHaveTheTypeOfTheMember() {
        try (SessionFactory factory = open(Map.of(SnowraftIdGenerator.SETTING, ids), PrimitiveOrder.class, BoxedOrder.class, TextOrder.class)) {
            long before = ids.next();
            PrimitiveOrder primitive = new PrimitiveOrder();
            BoxedOrder boxed = new BoxedOrder();
            TextOrder text = new TextOrder();
            factory.inTransaction(session -> List.of(primitive, boxed, text).forEach(session::persist));
            long after = ids.next();
            assertTrue(before < primitive.id && primitive.id < boxed.id && boxed.id < Long.parseLong(text.id) && Long.parseLong(text.id) < after,
                    before + " " + primitive.id + " " + boxed.id + " " + text.id + " " + after);
            factory.inStatelessSession(session -> {
                PrimitiveOrder other = new PrimitiveOrder();
                session.insert(other);
                assertTrue(other.id > after, other.id + " after " + after);
            });
        }
    }

    @Test
    void batchNeedsInsertsOnly() {
        try (SessionFactory factory = open(Map.of(SnowraftIdGenerator.SETTING, ids), BoxedOrder.class)) {
            List<BoxedOrder> orders = new ArrayList<>();
            statements.clear();
            factory.inTransaction(session -> {
                for (int i = 0; i < ROWS; i++) {
                    BoxedOrder order = new BoxedOrder();
                    session.persist(order);
                    orders.add(order);
                }
            });
            assertTrue(statements.stream().allMatch(sql -> sql.startsWith("insert into ")), statements::toString);
            assertTrue(statements.size() <= ROWS / BATCH, () -> statements.size() + " statements");
            assertEquals(ROWS, new HashSet<>(orders.stream().map(order -> order.id).toList()).size());
            factory.inSession(session -> assertEquals(ROWS,
                    session.createQuery("select count(distinct o.id) from BoxedOrder o", Long.class).getSingleResult()));
        }
    }

    @Test
    void insertsContinueWhileMembersAreStopped() {
        try (SessionFactory factory = open(Map.of(SnowraftIdGenerator.SETTING, ids), BoxedOrder.class)) {
            clock.slowDown(ids);
            cluster.freeze();
            try {
                for (int i = 0; i < 1000; i++) {
                    factory.inTransaction(session -> session.persist(new BoxedOrder()));
                }
            } finally {
                cluster.thaw();
            }
            factory.inSession(session -> assertEquals(1000, session.createQuery("select count(*) from BoxedOrder", Long.class).getSingleResult()));
        }
    }

    @Test
    void generatorsHaveNames() {
        try (Generator named = client.generator(GeneratorOptions.defaults().withHolder("named"));
                SessionFactory factory = open(Map.of(SnowraftIdGenerator.SETTING, ids, SnowraftIdGenerator.SETTING + ".named", named),
                        BoxedOrder.class, NamedOrder.class)) {
            named.ready(LIMIT);
            NamedOrder order = new NamedOrder();
            factory.inTransaction(session -> session.persist(order));
            ids.close(); // the other generator
            factory.inTransaction(session -> session.persist(new NamedOrder()));
            assertTrue(order.getId() > 0);
        }
    }

    @Test
    void failuresKeepTheirReason() {
        try (SessionFactory factory = open(Map.of(SnowraftIdGenerator.SETTING, ids), BoxedOrder.class)) {
            ids.close();
            SnowraftException e = assertThrows(SnowraftException.class, () -> factory.inTransaction(session -> session.persist(new BoxedOrder())));
            assertEquals(Reason.CLOSED, e.reason());
        }
    }

    @Test
    void wrongMappingsAreExplained() {
        assertMappingFails("@SnowraftId on io.snowraft.hibernate.Orders$BoxedOrder.id: missing generator; define a bean of the type "
                + "io.snowraft.client.Generator, or set snowraft.generator of Hibernate to such an object", Map.of(), BoxedOrder.class);
        assertMappingFails("@SnowraftId on io.snowraft.hibernate.Orders$NamedOrder.getId: missing generator; define a bean of the type "
                + "io.snowraft.client.Generator with the name named, or set snowraft.generator.named of Hibernate to such an object",
                Map.of(SnowraftIdGenerator.SETTING, ids), NamedOrder.class);
        assertMappingFails("setting snowraft.generator: expected an io.snowraft.client.Generator, not a text or another object",
                Map.of(SnowraftIdGenerator.SETTING, "ids"), BoxedOrder.class);
        assertMappingFails("@SnowraftId on io.snowraft.hibernate.Orders$ShortOrder.id: the type is java.lang.Integer; use long, Long or String",
                Map.of(SnowraftIdGenerator.SETTING, ids), ShortOrder.class);
    }

    private void assertMappingFails(String text, Map<String, Object> settings, Class<?> entity) {
        Throwable e = assertThrows(RuntimeException.class, () -> open(settings, entity).close());
        while (!(e instanceof MappingException) && e.getCause() != null) {
            e = e.getCause();
        }
        assertEquals(text, e.getMessage());
    }
}
