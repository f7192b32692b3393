package io.snowraft.internal.call;

import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.HttpConnection;
import io.snowraft.internal.http.Trust;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/** The connections of a client. It keeps idle ones for later requests. */
final class Pool {
    private static final Duration SWEEP = Duration.ofSeconds(1);
    /** Members close connections that are idle for two minutes. */
    private static final Duration MAX_IDLE = Duration.ofMinutes(1);
    /** A connection that was idle for longer may have been closed by the member, which a request that must not be repeated cannot risk. */
    private static final Duration SURELY_OPEN = Duration.ofMillis(500);
    private static final int MAX_IDLE_PER_MEMBER = 16;

    private final Trust trust;
    private final Background background;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Address, Deque<HttpConnection>> idle = new HashMap<>();
    private final Set<HttpConnection> busy = new HashSet<>();
    private final Map<Socket, Deadline> opening = new HashMap<>();
    private boolean keeps = true;
    private boolean sweeping;
    private boolean closed;

    Pool(Trust trust, Background background) {
        this.trust = trust;
        this.background = background;
    }

    /** Returns an idle connection to a member; null if there is none. With {@code careful}, it surely is open. */
    HttpConnection idle(Address member, boolean careful) {
        for (;;) {
            HttpConnection connection = take(member, careful);
            if (connection == null || !connection.hasUnread()) {
                return connection;
            }
            release(connection, false); // the next request would take the bytes for its answer
        }
    }

    private HttpConnection take(Address member, boolean careful) {
        lock.lock();
        try {
            Deque<HttpConnection> all = idle.getOrDefault(member, new ArrayDeque<>());
            HttpConnection connection = all.peekLast();
            if (connection == null || connection.idle().compareTo(careful ? SURELY_OPEN : MAX_IDLE) > 0) {
                return null;
            }
            busy.add(all.removeLast());
            return connection;
        } finally {
            lock.unlock();
        }
    }

    /** Opens a connection. An error means that nothing was sent. */
    HttpConnection open(Address member, Deadline deadline) throws IOException {
        Socket[] mine = new Socket[1];
        HttpConnection connection;
        try {
            connection = HttpConnection.open(member, trust, deadline, (socket, until) -> {
                forget(mine[0]);
                mine[0] = socket;
                watch(socket, until);
            });
        } finally {
            forget(mine[0]);
        }
        lock.lock();
        try {
            if (closed) {
                connection.close();
                throw new IOException("the client is closed");
            }
            busy.add(connection);
            return connection;
        } finally {
            lock.unlock();
        }
    }

    private void watch(Socket socket, Deadline deadline) throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new IOException("the client is closed");
            }
            opening.put(socket, deadline);
            if (!sweeping) {
                sweeping = true;
                background.schedule(this::sweep, SWEEP);
            }
        } finally {
            lock.unlock();
        }
    }

    private void forget(Socket socket) {
        lock.lock();
        try {
            opening.remove(socket);
        } finally {
            lock.unlock();
        }
    }

    /** Takes a connection back after an answer. */
    void release(HttpConnection connection, boolean reusable) {
        lock.lock();
        try {
            busy.remove(connection);
            Deque<HttpConnection> all = idle.computeIfAbsent(connection.address(), a -> new ArrayDeque<>());
            if (reusable && keeps && !closed && all.size() < MAX_IDLE_PER_MEMBER) {
                all.addLast(connection);
                return;
            }
        } finally {
            lock.unlock();
        }
        connection.close();
    }

    /** Closes the idle connections to a member. */
    void forget(Address member) {
        lock.lock();
        try {
            Deque<HttpConnection> all = idle.remove(member);
            if (all != null) {
                all.forEach(HttpConnection::close);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connections to members that are not in use any longer. */
    void keep(Collection<Address> members) {
        lock.lock();
        try {
            idle.forEach((member, connections) -> {
                if (!members.contains(member)) {
                    connections.forEach(HttpConnection::close);
                }
            });
            idle.keySet().retainAll(members);
        } finally {
            lock.unlock();
        }
    }

    /** Closes connections that are idle for long or whose peer takes too long. */
    private void sweep() {
        lock.lock();
        try {
            busy.forEach(HttpConnection::closeIfOverdue);
            opening.forEach((socket, deadline) -> {
                if (deadline.passed()) {
                    closeQuietly(socket);
                }
            });
            for (Deque<HttpConnection> all : idle.values()) {
                while (!all.isEmpty() && all.peekFirst().idle().compareTo(MAX_IDLE) > 0) {
                    all.removeFirst().close();
                }
            }
            idle.values().removeIf(Deque::isEmpty);
            sweeping = !closed && !(busy.isEmpty() && opening.isEmpty() && idle.isEmpty());
            if (sweeping) {
                background.schedule(this::sweep, SWEEP);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Sets whether idle connections are kept; false also closes those that are idle. */
    void keepIdle(boolean keep) {
        lock.lock();
        try {
            keeps = keep;
            if (!keep) {
                drain();
            }
        } finally {
            lock.unlock();
        }
    }

    private void drain() {
        lock.lock();
        try {
            idle.values().forEach(all -> all.forEach(HttpConnection::close));
            idle.clear();
        } finally {
            lock.unlock();
        }
    }

    /** Closes all connections. Requests in progress fail. */
    void close() {
        lock.lock();
        try {
            closed = true;
            new ArrayList<>(busy).forEach(HttpConnection::close);
            opening.keySet().forEach(Pool::closeQuietly);
            drain();
        } finally {
            lock.unlock();
        }
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // nothing is lost
        }
    }
}
