package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.Token;
import io.snowraft.internal.http.Trust;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Builds a {@link SnowraftClient}. A builder is not safe for concurrent use. */
public final class ClientBuilder {
    private final Set<Address> addresses = new LinkedHashSet<>();
    private String token = "";
    private String pin = "";
    private String ca = "";
    private boolean systemTrust;
    private boolean clearText;
    private Duration timeout = Duration.ofSeconds(10);
    private Clock clock = Clock.system();
    private ClientListener listener = new ClientListener() { };
    private System.Logger logger;

    ClientBuilder() {
    }

    /**
     * Adds the addresses of members' HTTP ports: host:port, or a host with the default port 7701. A text may have several of them,
     * separated by commas. Those of two or three members are enough,
     * because the client learns the others.
     */
    public ClientBuilder addresses(String... hosts) {
        if (hosts == null || Arrays.asList(hosts).contains(null)) {
            throw Answers.invalid("member address null: expected host:port");
        }
        for (String host : String.join(",", hosts).split(",", -1)) {
            try {
                addresses.add(Address.parse(host.strip()));
            } catch (IllegalArgumentException e) {
                throw Answers.invalid(e.getMessage());
            }
        }
        return this;
    }

    /**
     * Sets the API token, which goes with each call. If it ends with a pin, connections use TLS and the pin verifies the members. A token
     * without a pin needs {@link #ca(String)}, {@link #pin}, {@link #systemTrust} or {@link #clearText}; without these, it is sent to members on this
     * host only.
     *
     * @param text the token; null or empty for an open cluster, so that it may come from a variable of the environment
     */
    public ClientBuilder token(String text) {
        token = Objects.requireNonNullElse(text, "");
        return this;
    }

    /** Sets a pin of the cluster's certificate authority, 52 characters. Names and dates of certificates do not count then. */
    public ClientBuilder pin(String text) {
        pin = Objects.requireNonNull(text);
        return this;
    }

    /**
     * Sets certificate authorities in PEM that verify the members. A cluster's own authority counts as its pin. Any other authority is for
     * members and proxies that have certificates for their hosts.
     */
    public ClientBuilder ca(String pem) {
        ca = Objects.requireNonNull(pem);
        return this;
    }

    /** Sets certificate authorities as {@link #ca(String)} does, from a file. */
    public ClientBuilder ca(Path file) {
        try {
            return ca(Files.readString(file));
        } catch (IOException e) {
            throw Answers.invalid("CA file cannot be read: " + e);
        }
    }

    /** Uses TLS with the authorities of the Java platform, which verify the hosts in the addresses. A pin of the token is ignored. */
    public ClientBuilder systemTrust() {
        systemTrust = true;
        return this;
    }

    /** Sends everything in clear text, the token too: for networks in which something else encrypts the connections. */
    public ClientBuilder clearText() {
        clearText = true;
        return this;
    }

    /** Sets the time limit of a call, all tries included, greater than 0; 10 s by default. More than 365 days count as 365 days. */
    public ClientBuilder timeout(Duration limit) {
        if (limit.isNegative() || limit.isZero()) {
            throw Answers.invalid("timeout " + limit + ": must be greater than 0");
        }
        timeout = limit.compareTo(Deadline.LONGEST) > 0 ? Deadline.LONGEST : limit;
        return this;
    }

    /** Sets the clock of generators and blocks, for tests. */
    public ClientBuilder clock(Clock source) {
        clock = Objects.requireNonNull(source);
        return this;
    }

    /** Sets the listener for metrics. */
    public ClientBuilder listener(ClientListener to) {
        listener = Objects.requireNonNull(to);
        return this;
    }

    /** Sets the logger for workers acquired and lost, and for windows that are not granted. Without one, the client logs nothing. */
    public ClientBuilder logger(System.Logger to) {
        logger = Objects.requireNonNull(to);
        return this;
    }

    /** Returns the client. It connects at its first call, so this fails only if an option is invalid. */
    public SnowraftClient build() {
        if (addresses.isEmpty()) {
            throw Answers.invalid("missing address; give the address of at least one member");
        }
        List<Address> seeds = new ArrayList<>(addresses);
        try {
            return new SnowraftClient(new Caller(seeds, trust(), token, timeout, listener), clock, listener, logger);
        } catch (IllegalArgumentException e) {
            throw Answers.invalid(e.getMessage());
        }
    }

    private Trust trust() {
        String ofToken = token.isEmpty() ? "" : Token.parse(token).pin();
        if (systemTrust || clearText) {
            if (systemTrust == clearText || !ca.isEmpty() || !pin.isEmpty()) {
                throw new IllegalArgumentException("systemTrust and clearText cannot be combined with each other, a CA or a pin");
            }
            return systemTrust ? Trust.system() : Trust.clearText(false);
        }
        String named = pin.isEmpty() ? ofToken : pin;
        return ca.isEmpty() && named.isEmpty() ? Trust.clearText(!token.isEmpty()) : Trust.of(ca, named);
    }
}
