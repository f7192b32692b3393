package io.snowraft.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.snowraft.internal.json.JsonObject;
import io.snowraft.test.Vectors;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PinVectorsTest {
    private static X509Certificate certificate(String pem) throws Exception {
        return (X509Certificate) CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void authoritiesHaveTheirPins() throws Exception {
        for (JsonObject a : Vectors.read("pins.json").objects("authorities")) {
            assertEquals(a.string("pin"), PinTrustManager.pinOf(certificate(a.string("pem"))));
            assertEquals(a.string("pin"), Trust.of(a.string("pem"), "").serverName());
        }
    }

    @Test
    void serversAreAcceptedAsInVectors() throws Exception {
        for (JsonObject s : Vectors.read("pins.json").objects("servers")) {
            X509Certificate[] chain = new X509Certificate[s.strings("chain").size()];
            boolean accepted;
            try {
                for (int i = 0; i < chain.length; i++) {
                    chain[i] = certificate(s.strings("chain").get(i)); // the platform refuses to read some forgeries
                }
                new PinTrustManager(Set.copyOf(s.strings("pins"))).checkServerTrusted(chain, "UNKNOWN");
                accepted = true;
            } catch (CertificateException e) {
                accepted = false;
            }
            assertEquals(s.bool("accept"), accepted, s.string("about"));
        }
    }

    @Test
    void serverNamesArePinsInOrder() throws Exception {
        for (JsonObject s : Vectors.read("pins.json").objects("servers")) {
            StringBuilder pem = new StringBuilder();
            for (JsonObject a : Vectors.read("pins.json").objects("authorities")) {
                pem.append(s.strings("pins").contains(a.string("pin")) ? a.string("pem") : "");
            }
            assertEquals(s.string("serverName"), Trust.of(pem.toString(), s.strings("pins").get(0)).serverName(), s.string("about"));
        }
    }

    @Test
    void tokensMatchVectors() throws Exception {
        for (JsonObject t : Vectors.read("pins.json").objects("tokens")) {
            String text = t.string("text");
            if (t.bool("valid")) {
                assertEquals(t.string("pin"), Token.parse(text).pin());
            } else {
                String message = assertThrows(IllegalArgumentException.class, () -> Token.parse(text), text).getMessage();
                assertFalse(text.length() > 20 && message.contains(text), message);
            }
        }
    }
}
