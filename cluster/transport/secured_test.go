package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// layered is a stream layer with keys. It records the facts that its node would learn.
type layered struct {
	*StreamLayer
	self     peer.Meta
	verified chan string
	foreign  chan error
}

func layer(t *testing.T, keys *trust.Keys) layered {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := layered{self: clusterkit.NewMeta(), verified: make(chan string, 8), foreign: make(chan error, 32)}
	node := agreeing(l.self)
	agree := node.JudgeGreeting
	node.JudgeGreeting = func(h Greeting, verified string) Reply {
		l.verified <- verified
		return agree(h, verified)
	}
	node.NoteForeign = func(_ net.Addr, err error) {
		if err := peer.Misunderstanding(err); err != nil {
			l.foreign <- err
		}
	}
	l.StreamLayer = NewStreamLayer(listener, keys, node, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestSecretsOnTheRaftPort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialer, acceptor []int
		hears            error // at the acceptor
	}{
		"one secret":        {dialer: []int{0}, acceptor: []int{0}},
		"open":              {},
		"dialer has a new":  {dialer: []int{1, 0}, acceptor: []int{0}},
		"acceptor has two":  {dialer: []int{1}, acceptor: []int{0, 1}},
		"other secrets":     {dialer: []int{0}, acceptor: []int{1}, hears: peer.ErrOtherSecret},
		"dialer is open":    {acceptor: []int{0}, hears: peer.ErrPlain},
		"dialer is secured": {dialer: []int{0}, hears: peer.ErrEncrypts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := layer(t, clusterkit.Keys(t, c.dialer...)), layer(t, clusterkit.Keys(t, c.acceptor...))
			conn, err := a.dial(peer.RaftAddress(b.self.ID, b.listener.Addr().String()), forTerms, clusterkit.Patience)
			if (err == nil) != (c.hears == nil) {
				t.Fatalf("dial() = %v", err)
			}
			if c.hears != nil {
				select {
				case got := <-b.foreign:
					if !errors.Is(got, c.hears) {
						t.Errorf("the acceptor hears %v, want %v", got, c.hears)
					}
				case <-time.After(clusterkit.Patience):
					t.Error("the acceptor reports no peer")
				}
				return
			}
			defer conn.Close()
			want := ""
			if c.dialer != nil {
				want = a.self.ID
			}
			if got := <-b.verified; got != want {
				t.Errorf("verified ID %q, want %q", got, want)
			}
		})
	}
}

// A client of TLS that reaches the Raft port, such as a browser with a wrong port, is not a peer: nothing is said of it.
func TestClientsOfTLSAreNoPeers(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := layer(t, clusterkit.Keys(t, keys...))
			for protocols, verifies := range map[string]bool{"": false, "h2": false, "http/1.1": true} { // one that verifies refuses the certificate
				client := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: !verifies, MinVersion: tls.VersionTLS12, NextProtos: strings.Fields(protocols)}}
				conn, err := client.DialContext(t.Context(), "tcp", l.listener.Addr().String())
				if err == nil { // TLS 1.3: the refusal arrives with the first read
					_, err = conn.Read(make([]byte, 1))
					_ = conn.Close()
				}
				if err == nil {
					t.Errorf("%q: accepted", protocols)
				}
			}
			l.saysNothing(t)
		})
	}
}

// countedListener counts the times that its connections are closed.
type countedListener struct {
	net.Listener
	closed atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countedConn{conn, &l.closed}, err
}

type countedConn struct {
	net.Conn
	closed *atomic.Int64
}

func (c *countedConn) Close() error {
	c.closed.Add(1)
	return c.Conn.Close()
}

// The keys forget a connection whose handshake was refused after TLS. They would close it again when its secret is removed.
func TestRefusedConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(s trust.Secret) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s.Line()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(clusterkit.Secrets[0])
	keys, err := trust.OpenKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, node := &countedListener{Listener: inner}, agreeing(clusterkit.NewMeta())
	node.JudgeGreeting = func(Greeting, string) Reply { return Reply{Refused: MemberRemoved} }
	refuses := NewStreamLayer(listener, keys, node, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = refuses.Close() })
	if _, err := layer(t, clusterkit.Keys(t, 0)).dial(peer.RaftAddress(refuses.Self().ID, inner.Addr().String()), forRaft, clusterkit.Patience); err == nil {
		t.Fatal("a refused connection was made")
	}
	clusterkit.Eventually(t, "the acceptor closes the connection", func() bool { return listener.closed.Load() == 1 })
	write(clusterkit.Secrets[1])
	if changed, err := keys.Reload(); err != nil || !changed {
		t.Fatalf("Reload() = %v, %v", changed, err)
	}
	if n := listener.closed.Load(); n != 1 {
		t.Errorf("the connection was closed %d times, want once", n)
	}
}

// A closing node closes the connections without a completed handshake: those that it dials and those that others dial.
func TestCloseEndsHandshakes(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // a race shows only sometimes
				closeWhileDialing(t, clusterkit.Keys(t, secrets...))
				closeWhileAccepting(t, clusterkit.Keys(t, secrets...))
			}
		})
	}
}

// closeWhileAccepting closes a layer that a silent peer has dialed.
func closeWhileAccepting(t *testing.T, keys *trust.Keys) {
	t.Helper()
	b := layer(t, keys)
	conn, err := net.Dial("tcp", b.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if keys != nil {
		if conn, err = keys.ConnectMember(t.Context(), conn, clusterkit.NewMeta().ID, b.self.ID); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.Close()
	_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection outlives its node: %v", err)
	}
}

// closeWhileDialing closes a layer that dials a silent peer.
func closeWhileDialing(t *testing.T, keys *trust.Keys) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	silent := clusterkit.NewMeta()
	connected, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(connected)
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if keys != nil {
			secured := tls.Server(conn, keys.MemberServer(silent.ID))
			if err := secured.Handshake(); err != nil {
				t.Error(err)
			}
			conn = secured
		}
		connected <- struct{}{} // before the first byte of the hello is read: that read would hide a race from the detector
		_, _ = io.Copy(io.Discard, conn)
	}()
	a := layer(t, keys)
	dialed := make(chan error, 1)
	go func() {
		conn, err := a.dial(peer.RaftAddress(silent.ID, listener.Addr().String()), forTerms, clusterkit.Patience)
		if err == nil {
			_ = conn.Close()
		}
		dialed <- err
	}()
	<-connected
	_ = a.Close()
	if err := <-dialed; err == nil {
		t.Error("a silent peer was taken for a member")
	}
	<-ended
}

// A new member at the address of a lost one has the right secret, and is not the lost one.
func TestDialerChecksTheCertificate(t *testing.T) {
	t.Parallel()
	keys := clusterkit.Keys(t, 0)
	a, b := layer(t, keys), layer(t, keys)
	for range 20 {
		if conn, err := a.dial(peer.RaftAddress(clusterkit.NewMeta().ID, b.listener.Addr().String()), forTerms, clusterkit.Patience); err == nil {
			_ = conn.Close()
			t.Error("the acceptor impersonated another member")
		}
	}
	b.saysNothing(t)
}

// saysNothing closes a layer, which waits for the handshakes, and fails the test if a peer was reported.
func (l layered) saysNothing(t *testing.T) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-l.foreign:
		t.Errorf("a peer is reported: %v", err)
	default:
	}
}

// The probe of a restore meets live members of other clusters, secured ones too.
func TestProbesAreNoPeers(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		l := layer(t, clusterkit.Keys(t, keys...))
		if got := CheckPresence(t.Context(), l.listener.Addr().String(), l.self.ID, clusterkit.Patience); got != Present {
			t.Errorf("%s: Probe() = %v", name, got)
		}
		l.saysNothing(t)
	}
}
