package io.snowraft.mybatisplus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.baomidou.mybatisplus.core.MybatisConfiguration;
import com.baomidou.mybatisplus.core.MybatisSqlSessionFactoryBuilder;
import com.baomidou.mybatisplus.core.config.GlobalConfig;
import com.baomidou.mybatisplus.core.mapper.BaseMapper;
import com.baomidou.mybatisplus.core.toolkit.GlobalConfigUtils;
import io.snowraft.client.Generator;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.dev.DevCluster;
import io.snowraft.dev.SlowClock;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.apache.ibatis.exceptions.PersistenceException;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.session.ExecutorType;
import org.apache.ibatis.session.SqlSession;
import org.apache.ibatis.session.SqlSessionFactory;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MybatisPlusTest {
    private static final Duration LIMIT = Duration.ofMinutes(10);
    private static final int ROWS = 10_000;

    private static DevCluster cluster;

    private final SlowClock clock = new SlowClock();
    private SnowraftClient client;
    private Generator ids;
    private Connection database; // keeps the data
    private SqlSessionFactory sessions;

    interface NumberedMapper extends BaseMapper<Order.Numbered> {
    }

    interface TextedMapper extends BaseMapper<Order.Texted> {
    }

    @BeforeAll
    static void startCluster() {
        cluster = DevCluster.start();
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @BeforeEach
    void open() throws SQLException {
        client = SnowraftClient.builder().addresses(cluster.addresses()).timeout(LIMIT).clock(clock).build();
        ids = client.generator();
        ids.ready(LIMIT);
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:orders");
        database = source.getConnection();
        try (Statement statement = database.createStatement()) {
            statement.execute("create table orders (id bigint primary key, item varchar(20))");
        }
        sessions = sessions(source);
    }

    private SqlSessionFactory sessions(DataSource source) {
        MybatisConfiguration configuration = new MybatisConfiguration(new Environment("test", new JdbcTransactionFactory(), source));
        GlobalConfigUtils.setGlobalConfig(configuration, new GlobalConfig().setDbConfig(new GlobalConfig.DbConfig())
                .setIdentifierGenerator(new SnowraftIdentifierGenerator(ids)));
        configuration.addMapper(NumberedMapper.class);
        configuration.addMapper(TextedMapper.class);
        return new MybatisSqlSessionFactoryBuilder().build(configuration);
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        client.close();
    }

    @Test
    void idsHaveTheTypeOfTheMember() {
        try (SqlSession session = sessions.openSession()) {
            long before = ids.next();
            Order.Numbered numbered = new Order.Numbered();
            Order.Texted texted = new Order.Texted();
            session.getMapper(NumberedMapper.class).insert(numbered);
            session.getMapper(TextedMapper.class).insert(texted);
            long after = ids.next();
            assertTrue(before < numbered.id && numbered.id < Long.parseLong(texted.id) && Long.parseLong(texted.id) < after,
                    before + " " + numbered.id + " " + texted.id + " " + after);
        }
    }

    @Test
    void batchGetsDistinctIds() {
        try (SqlSession session = sessions.openSession(ExecutorType.BATCH)) {
            List<Order.Numbered> orders = Stream.generate(Order.Numbered::new).limit(ROWS).toList();
            NumberedMapper mapper = session.getMapper(NumberedMapper.class);
            orders.forEach(mapper::insert);
            session.commit();
            assertEquals(ROWS, new HashSet<>(orders.stream().map(order -> order.id).toList()).size());
            assertEquals(ROWS, mapper.selectCount(null));
        }
    }

    @Test
    void insertsContinueWhileMembersAreStopped() {
        clock.slowDown(ids);
        cluster.freeze();
        try (SqlSession session = sessions.openSession()) {
            NumberedMapper mapper = session.getMapper(NumberedMapper.class);
            for (int i = 0; i < 1000; i++) {
                mapper.insert(new Order.Numbered());
            }
            assertEquals(1000, mapper.selectCount(null));
        } finally {
            cluster.thaw();
        }
    }

    @Test
    void failuresKeepTheirReason() {
        ids.close();
        try (SqlSession session = sessions.openSession()) {
            NumberedMapper mapper = session.getMapper(NumberedMapper.class);
            PersistenceException e = assertThrows(PersistenceException.class, () -> mapper.insert(new Order.Numbered()));
            Throwable cause = e;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            assertEquals(Reason.CLOSED, ((SnowraftException) cause).reason());
        }
    }
}
