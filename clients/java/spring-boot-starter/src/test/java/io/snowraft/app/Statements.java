package io.snowraft.app;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.hibernate.resource.jdbc.spi.StatementInspector;

/** Keeps the statements of Hibernate. */
public class Statements implements StatementInspector {
    private static final long serialVersionUID = 1L;

    static final List<String> ALL = new CopyOnWriteArrayList<>();

    @Override
    public String inspect(String sql) {
        ALL.add(sql);
        return sql;
    }
}
