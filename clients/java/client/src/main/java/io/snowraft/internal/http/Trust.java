package io.snowraft.internal.http;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** Secures connections. A token is sent only on a connection that {@link #secure} returned. */
public final class Trust {
    /** The greatest number of pins that fit into one server name. */
    private static final int MAX_PINS = 4;
    private static final BigInteger AUTHORITY_SERIAL = BigInteger.valueOf(0x736e6f77);
    private static final String AUTHORITY = "CN=Snowraft cluster ";

    private final SSLContext context; // null: clear text
    private final String serverName; // the pins, which take the place of the host; null: the host
    private final boolean thisHostOnly;

    private Trust(SSLContext context, String serverName, boolean thisHostOnly) {
        this.context = context;
        this.serverName = serverName;
        this.thisHostOnly = thisHostOnly;
    }

    /** Returns the trust of a client without TLS. With {@code thisHostOnly}, it refuses connections to other hosts. */
    public static Trust clearText(boolean thisHostOnly) {
        return new Trust(null, null, thisHostOnly);
    }

    /** Returns the trust in the authorities of the system, for members and proxies that have certificates for their hosts. */
    public static Trust system() {
        return new Trust(context(null), null, false);
    }

    /**
     * Returns the trust in the given authorities. Authorities of Snowraft clusters count as their pins. If there is any other
     * authority, all of them verify hosts and dates.
     *
     * @param pem certificates; empty for none
     * @param pin the pin of a token or of its own; empty for none
     */
    public static Trust of(String pem, String pin) {
        List<X509Certificate> authorities = parse(pem);
        if (!authorities.stream().allMatch(Trust::isClusterAuthority)) {
            return new Trust(context(managersOf(authorities)), null, false);
        }
        Set<String> pins = authorities.stream().map(PinTrustManager::pinOf).collect(Collectors.toCollection(TreeSet::new));
        if (!pin.isEmpty()) {
            Token.checkPin(pin, "pin");
            pins.add(pin);
        }
        if (pins.isEmpty()) {
            throw new IllegalArgumentException("CA: no certificate in PEM found");
        }
        String name = pins.stream().limit(MAX_PINS).collect(Collectors.joining("."));
        return new Trust(context(new TrustManager[] {new PinTrustManager(pins)}), name, false);
    }

    /** Returns the server name that connections send; null for the host. */
    String serverName() {
        return serverName;
    }

    /** Reports whether connections use TLS. */
    public boolean encrypts() {
        return context != null;
    }

    private static List<X509Certificate> parse(String pem) {
        List<X509Certificate> certificates = new ArrayList<>();
        if (pem.isBlank()) {
            return certificates;
        }
        try {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            for (Certificate c : factory.generateCertificates(new ByteArrayInputStream(pem.getBytes(StandardCharsets.UTF_8)))) {
                certificates.add((X509Certificate) c);
            }
        } catch (CertificateException e) {
            throw new IllegalArgumentException("CA: " + e.getMessage(), e);
        }
        if (certificates.isEmpty()) {
            throw new IllegalArgumentException("CA: no certificate in PEM found");
        }
        return certificates;
    }

    /** Reports whether a certificate is the authority of a cluster secret: these have one form of subject and one serial number. */
    private static boolean isClusterAuthority(X509Certificate certificate) {
        String subject = certificate.getSubjectX500Principal().getName();
        return certificate.getBasicConstraints() >= 0 && certificate.getSerialNumber().equals(AUTHORITY_SERIAL)
                && subject.startsWith(AUTHORITY) && subject.endsWith(",O=Snowraft");
    }

    private static TrustManager[] managersOf(List<X509Certificate> authorities) {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            for (int i = 0; i < authorities.size(); i++) {
                store.setCertificateEntry("ca" + i, authorities.get(i));
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory.getTrustManagers();
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalArgumentException("CA: " + e.getMessage(), e);
        }
    }

    private static SSLContext context(TrustManager[] managers) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers, null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every Java platform has TLS
        }
    }

    /** Returns a connection over which a token may be sent. The handshake has ended and the server is verified. */
    Socket secure(Socket raw, Address address, Deadline deadline) throws IOException {
        if (context == null) {
            if (thisHostOnly && !raw.getInetAddress().isLoopbackAddress()) {
                throw new ClearTextException();
            }
            return raw;
        }
        raw.setSoTimeout(deadline.socketTimeout());
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(raw, address.host(), address.port(), true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"http/1.1"});
        if (serverName != null) {
            parameters.setServerNames(List.of(new SNIHostName(serverName)));
            parameters.setProtocols(new String[] {"TLSv1.3"});
        } else {
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        }
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }
}
