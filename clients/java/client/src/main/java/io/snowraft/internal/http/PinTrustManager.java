package io.snowraft.internal.http;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trusts servers whose certificate was issued by an authority with one of the given pins. A pin is the SHA-256 of the authority's
 * public key, in base32. Names, and dates relative to the present time, do not count.
 */
final class PinTrustManager extends X509ExtendedTrustManager {
    private static final String SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
    private static final String ANY_USAGE = "2.5.29.37.0";
    /** The time at which certificates are verified, if they are valid then. */
    private static final Date JUDGED = Date.from(Instant.parse("2050-01-01T00:00:00Z"));
    private static final Pattern ISSUER = Pattern.compile("CN=Snowraft cluster ([0-9a-f]{16})(,|$)");

    private final Set<String> pins;

    PinTrustManager(Set<String> pins) {
        this.pins = Set.copyOf(pins);
    }

    /** Returns the pin of a certificate's public key. */
    static String pinOf(X509Certificate certificate) {
        try {
            return Base32.encode(MessageDigest.getInstance("SHA-256").digest(certificate.getPublicKey().getEncoded()));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java platform has SHA-256
        }
    }

    /** Throws a {@link PinMismatchException} unless an authority with a pin is in the chain and issued its first certificate. */
    void check(X509Certificate[] chain) throws CertificateException {
        for (int i = 1; i < chain.length; i++) {
            if (pins.contains(pinOf(chain[i]))) {
                checkIssued(chain[0], chain[i]);
                return;
            }
        }
        Matcher issuer = ISSUER.matcher(chain.length == 0 ? "" : chain[0].getIssuerX500Principal().getName());
        throw new PinMismatchException(issuer.find()
                ? "certificate issued by another cluster secret (" + issuer.group(1) + ")"
                : "certificate not issued by a cluster secret");
    }

    private static void checkIssued(X509Certificate leaf, X509Certificate authority) throws CertificateException {
        if (authority.getBasicConstraints() < 0) {
            throw new PinMismatchException("the certificate with the pin is not of an authority");
        }
        List<String> usages = leaf.getExtendedKeyUsage();
        if (usages != null && !usages.contains(SERVER_AUTH) && !usages.contains(ANY_USAGE)) {
            throw new PinMismatchException("certificate not of a server");
        }
        boolean valid = !leaf.getNotBefore().after(JUDGED) && !leaf.getNotAfter().before(JUDGED);
        try {
            PKIXParameters parameters = new PKIXParameters(Set.of(new TrustAnchor(authority, null)));
            parameters.setRevocationEnabled(false);
            parameters.setDate(valid ? JUDGED : leaf.getNotBefore());
            CertPathValidator.getInstance("PKIX")
                    .validate(CertificateFactory.getInstance("X.509").generateCertPath(List.of(leaf)), parameters);
        } catch (GeneralSecurityException e) {
            throw new PinMismatchException("certificate not issued by the authority with the pin: " + e.getMessage());
        }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket) throws CertificateException {
        check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine) throws CertificateException {
        check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket) throws CertificateException {
        throw new CertificateException("a client verifies no clients");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine) throws CertificateException {
        throw new CertificateException("a client verifies no clients");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        throw new CertificateException("a client verifies no clients");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}
