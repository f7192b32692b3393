package io.snowraft.internal.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.ClientBuilder;
import io.snowraft.client.Reason;
import io.snowraft.client.SequenceSpec;
import io.snowraft.client.SnowraftClient;
import io.snowraft.client.SnowraftException;
import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import io.snowraft.test.TlsPort;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** TLS with pins: a token leaves only on a connection whose pin is verified. */
class PinnedClientTest {
    private static final String SECRET = "snowraft_17_aeaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad7qejzabli";

    private static String pin(String name) throws Exception {
        return Trust.of(TlsPort.pem(name), "").serverName();
    }

    /** Returns a token of the test vectors, with another pin. */
    private static String token(String pin) throws Exception {
        String text = io.snowraft.test.Vectors.read("pins.json").objects("tokens").get(0).string("text");
        return text.substring(0, text.lastIndexOf('_')) + (pin.isEmpty() ? "" : "_" + pin);
    }

    private static ClientBuilder builder(FakeMember member) {
        return SnowraftClient.builder().addresses(member.address()).timeout(Duration.ofMinutes(5));
    }

    @Test
    void pinIsSentAsServerNameAndVerified() throws Exception {
        AtomicReference<String> sni = new AtomicReference<>();
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", sni), new FakeCluster());
                SnowraftClient client = builder(member).token(token(pin("pinned"))).build()) {
            assertTrue(client.nextId() > 0);
            assertEquals(pin("pinned"), sni.get());
            assertTrue(member.received().contains("Authorization: Bearer " + token(pin("pinned"))));
        }
    }

    @Test
    void authorityOfAClusterCountsAsItsPin() throws Exception {
        AtomicReference<String> sni = new AtomicReference<>();
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", sni), new FakeCluster());
                SnowraftClient client = builder(member).ca(TlsPort.pem("other") + TlsPort.pem("pinned")).build()) {
            assertTrue(client.nextId() > 0);
            assertTrue(sni.get().contains(pin("pinned")) && sni.get().contains(pin("other")) && sni.get().contains("."));
        }
    }

    @Test
    void authoritiesComeFromAFile() throws Exception {
        Path file = Path.of(TlsPort.class.getResource("/pinned.pem").toURI());
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), new FakeCluster());
                SnowraftClient client = builder(member).ca(file).build()) {
            assertTrue(client.nextId() > 0);
            SnowraftException e = assertThrows(SnowraftException.class, () -> builder(member).ca(Path.of("nope.pem")));
            assertEquals("snowraft: CA file cannot be read: java.nio.file.NoSuchFileException: nope.pem [INVALID_ARGUMENT]", e.getMessage());
        }
    }

    @Test
    void tokenIsNotSentToAServerWithoutThePin() throws Exception {
        AtomicReference<String> sni = new AtomicReference<>();
        try (FakeMember member = new FakeMember(TlsPort.open("other", sni), new FakeCluster());
                SnowraftClient client = builder(member).token(token(pin("pinned"))).build()) {
            SnowraftException e = assertThrows(SnowraftException.class, client::nextId);
            assertEquals(Reason.PIN_MISMATCH, e.reason(), e.getMessage());
            assertTrue(e.getMessage().contains("another cluster secret (fedcba9876543210)"), e.getMessage());
            assertFalse(e.retry() || e.unknown());
            assertEquals("", member.received());
            assertEquals(pin("pinned"), sni.get());
        }
    }

    @Test
    void anotherMemberWithThePinServes() throws Exception {
        try (FakeMember wrong = new FakeMember(TlsPort.open("other", new AtomicReference<>()), new FakeCluster());
                FakeMember right = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), new FakeCluster());
                SnowraftClient client = SnowraftClient.builder().addresses(wrong.address(), right.address()).token(token(pin("pinned"))).build()) {
            for (int i = 0; i < 20; i++) {
                assertTrue(client.nextId() > 0);
            }
            assertEquals("", wrong.received());
        }
    }

    @Test
    void securedPortForGrpcIsNamedAtOnce() throws Exception {
        try (FakeMember port = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), r -> null); // selects no protocol of HTTP/1.1
                SnowraftClient client = builder(port).token(token(pin("pinned"))).build()) {
            SnowraftException e = assertThrows(SnowraftException.class, () -> client.createSequence("s", SequenceSpec.of()));
            assertEquals("snowraft: " + port.address() + ": the port speaks gRPC; use the port for HTTP, 7701 by default [UNAVAILABLE]",
                    e.getMessage());
            assertFalse(e.retry() || e.unknown());
        }
    }

    @Test
    void peerThatAnsweredSpeaksHttp() throws Exception {
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), new FakeCluster())) {
            Deadline deadline = Deadline.after(Duration.ofMinutes(5));
            Trust trust = Trust.of(TlsPort.pem("pinned"), "");
            try (HttpConnection connection = HttpConnection.open(Address.parse(member.address()), trust, deadline, (socket, until) -> { })) {
                assertTrue(connection.speaksNoHttp());
                assertEquals(200, connection.exchange("GET", "/v1/members", "", null, null, deadline).status());
                assertFalse(connection.speaksNoHttp());
            }
        }
    }

    @Test
    void tokenIsNotSentInClearTextToAServerWithoutTls() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster());
                SnowraftClient client = builder(member).token(token(pin("pinned"))).timeout(Duration.ofMillis(500)).build()) {
            assertThrows(SnowraftException.class, client::nextId);
            String received = member.received();
            assertFalse(received.contains("snowraft_") || received.contains("POST"), received);
        }
    }

    @Test
    void tokenIsNotSentBeforeTheServerHasShownItsCertificate() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                SnowraftClient client = SnowraftClient.builder().addresses("127.0.0.1:" + server.getLocalPort()).token(token(pin("pinned")))
                        .timeout(Duration.ofMillis(500)).build()) {
            CompletableFuture<String> received = CompletableFuture.supplyAsync(() -> {
                try (Socket peer = server.accept()) {
                    return new String(peer.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1); // a silent server
                } catch (java.io.IOException e) {
                    return "";
                }
            });
            SnowraftException e = assertThrows(SnowraftException.class, client::nextId);
            assertEquals(Reason.UNAVAILABLE, e.reason());
            assertFalse(e.unknown());
            assertFalse(received.get(300, TimeUnit.SECONDS).contains("snowraft_"));
        }
    }

    @Test
    void tokenWithoutPinStaysOnThisHost() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster()); SnowraftClient client = builder(member).token(token("")).build()) {
            assertTrue(client.nextId() > 0);
            assertTrue(member.received().contains("Bearer " + token("")));
        }
        InetAddress other = InetAddress.getByName("192.0.2.1");
        Trust trust = Trust.clearText(true);
        try (Socket raw = new Socket() {
            @Override
            public InetAddress getInetAddress() {
                return other;
            }
        }) {
            assertThrows(ClearTextException.class, () -> trust.secure(raw, new Address("192.0.2.1", 7701), Deadline.after(Duration.ofSeconds(1))));
        }
    }

    @Test
    void wrongTokensAreRefusedWithoutTheirText() {
        SnowraftException e = assertThrows(SnowraftException.class, () -> SnowraftClient.builder().addresses("127.0.0.1").token(SECRET + "x").build());
        assertEquals(Reason.INVALID_ARGUMENT, e.reason());
        assertFalse(e.getMessage().contains("aeaaaa"), e.getMessage());
    }

    @Test
    void anotherAuthorityVerifiesHosts() throws Exception {
        // A trust that is not in cluster authorities checks names: the certificate of the test is for no host.
        try (FakeMember member = new FakeMember(TlsPort.open("pinned", new AtomicReference<>()), new FakeCluster());
                SnowraftClient client = builder(member).systemTrust().timeout(Duration.ofMillis(500)).build()) {
            assertThrows(SnowraftException.class, client::nextId);
            assertEquals("", member.received());
        }
    }
}
