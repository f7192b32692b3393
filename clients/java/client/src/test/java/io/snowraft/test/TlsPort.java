package io.snowraft.test;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SNIMatcher;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;

/** Ports with TLS for members of tests. */
public final class TlsPort {
    private TlsPort() {
    }

    /** Returns a certificate of the test resources in PEM. */
    public static String pem(String name) throws Exception {
        try (InputStream in = TlsPort.class.getResourceAsStream("/" + name + ".pem")) {
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        }
    }

    /** Returns a TLS port with a certificate of an authority, which keeps the server name that clients send. */
    public static ServerSocket open(String name, AtomicReference<String> sni) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = TlsPort.class.getResourceAsStream("/" + name + ".p12")) {
            store.load(in, "snowraft".toCharArray());
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, "snowraft".toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        SSLParameters parameters = server.getSSLParameters();
        parameters.setSNIMatchers(List.of(new SNIMatcher(0) {
            @Override
            public boolean matches(SNIServerName serverName) {
                sni.set(new String(serverName.getEncoded(), StandardCharsets.US_ASCII));
                return true;
            }
        }));
        server.setSSLParameters(parameters);
        return server;
    }
}
