package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// secured is a member of a secured cluster that accepts one token.
type secured struct {
	*fake
	of    *fakes
	ca    *trust.Authority
	token trust.Token
	sent  atomic.Pointer[[]string] // authorization of the last call
	named atomic.Pointer[string]   // server name of the last TLS connection
}

func startSecured(t *testing.T, f *fakes, opts ...grpc.ServerOption) *secured {
	t.Helper()
	secret := trust.NewSecret()
	keys, err := trust.NewKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{of: f, ca: secret.Authority(), token: trust.Token{ID: 7, Secret: trust.NewTokenSecret()}}
	if len(opts) == 0 {
		config := trust.ServerTLS{Keys: keys, MemberID: "a", Hosts: []string{"127.0.0.1"}, Now: time.Now}.Config()
		opts = []grpc.ServerOption{grpc.Creds(credentials.NewTLS(config))}
	}
	s.fake = s.of.add("127.0.0.1:0", opts...)
	s.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
		sent := metadata.ValueFromIncomingContext(ctx, "authorization")
		s.sent.Store(&sent)
		if p, ok := peer.FromContext(ctx); ok {
			if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
				s.named.Store(&info.State.ServerName)
			}
		}
		if len(sent) != 1 || !strings.HasPrefix(sent[0], "Bearer "+s.text("")) {
			return nil, rpc.NewError(rpc.Unauthenticated, "no token")
		}
		return s.issue(req), nil
	})
	return s
}

// text returns the text of the member's token with a pin.
func (s *secured) text(pin string) string {
	token := s.token
	token.Pin = pin
	return token.Text()
}

func (s *secured) pem(t *testing.T) []byte {
	t.Helper()
	return s.ca.PEM()
}

// plainly returns the server option for plain TCP.
var plainly = grpc.Creds(insecure.NewCredentials())

func TestTokenWithPinSuffices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(someDay)) // certificates are valid for hosts
		s := startSecured(t, startFakes(t, 0))
		other := trust.NewSecret().Authority()
		for name, options := range map[string][]Option{
			"the pin":                    {WithToken(s.text(s.ca.Pin()))},
			"a CA":                       {WithToken(s.text("")), WithCA(s.pem(t))},
			"a CA and another pin":       {WithToken(s.text(other.Pin())), WithCA(s.pem(t))},
			"two CAs":                    {WithToken(s.text("")), WithCA(append(other.PEM(), s.pem(t)...))},
			"credentials and a pin":      {WithToken(s.text(other.Pin())), WithTransportCredentials(clientTLS(t, s.pem(t)))},
			"the pin, of a one-shot one": {WithToken(s.text(s.ca.Pin())), WithOneShot()},
		} {
			if _, err := s.of.client(s.of.addrs(), options...).NextID(within(t, patience)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if own := strings.HasPrefix(name, "credentials"); !own && !strings.Contains(*s.named.Load(), s.ca.Pin()) {
				t.Errorf("%s: the server was called %q, want its pin among others", name, *s.named.Load())
			}
		}
		for name, options := range map[string][]Option{
			"the pin of another cluster": {WithToken(s.text(other.Pin()))},
			"the CA of another cluster":  {WithToken(s.text("")), WithCA(other.PEM())},
			"plain TCP":                  {WithToken(s.text(""))},
		} {
			s.sent.Store(nil)
			_, err := s.of.client(s.of.addrs(), append(options, WithOneShot())...).NextID(within(t, patience))
			if failed, ok := errors.AsType[*Error](err); !ok || !failed.Unsent || s.sent.Load() != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func clientTLS(t *testing.T, pem []byte) credentials.TransportCredentials {
	t.Helper()
	config, err := trust.ClientTLS{CA: pem}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(config)
}

// A refusal of the token is final: the client calls no member again.
func TestRefusedTokenIsFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startSecured(t, startFakes(t, 0))
		_, err := s.of.client(s.of.addrs(), WithCA(s.pem(t))).NextID(t.Context())
		if failed, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrUnauthenticated) || failed.Repeatable() || s.asked.Load() != 1 {
			t.Errorf("%d calls: %v", s.asked.Load(), err)
		}
	})
}

// elsewhere is a connection to another host.
type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7700} }

// The client sends a token in clear text only to this host, unless the caller declares that something else encrypts.
func TestTokenInClearTextStaysOnThisHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startSecured(t, startFakes(t, 0), plainly)
		token := WithToken(s.text(""))
		away := WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := s.of.network.dial(ctx, addr)
			return elsewhere{conn}, err
		}))
		for name, options := range map[string][]Option{
			"to this host":              {token},
			"to another host, on order": {token, away, WithTransportCredentials(insecure.NewCredentials())},
		} {
			for _, more := range [][]Option{nil, {WithOneShot()}} {
				if _, err := s.of.client(s.of.addrs(), append(more, options...)...).NextID(within(t, patience)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for _, more := range [][]Option{nil, {WithOneShot()}} {
			s.sent.Store(nil)
			_, err := s.of.client(s.of.addrs(), append(more, token, away)...).NextID(within(t, time.Second))
			if err == nil || s.sent.Load() != nil {
				t.Errorf("the token was sent to another host: %v", err)
			}
			t.Log(err)
		}
	})
}

func TestWrongTransportIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tlsPort, plainPort := startSecured(t, startFakesOnTCP(t, 0)), startSecured(t, startFakesOnTCP(t, 0), plainly)
		for _, c := range []struct {
			of   *secured
			want error
			opts []Option
		}{
			{tlsPort, rpc.ErrExpectsTLS, nil},
			{plainPort, rpc.ErrNoTLS, []Option{WithCA(plainPort.pem(t))}},
		} {
			_, err := c.of.of.client(c.of.of.addrs(), append(c.opts, WithOneShot())...).NextID(within(t, patience))
			if !errors.Is(err, c.want) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
		}
	})
}

// A TLS port that does not speak gRPC, such as a member's port for Raft, gossip, HTTP or Redis, is not the API.
func TestOtherPortsOfASecuredMember(t *testing.T) {
	t.Parallel()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	config := trust.ServerTLS{Keys: keys, MemberID: "a", Hosts: []string{"127.0.0.1"}, Now: time.Now}.Config()
	for name, protocols := range map[string][]string{"no protocol": nil, "HTTP": {"http/1.1"}, "closes": {"closes"}} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if name != "closes" {
					config := config.Clone()
					config.NextProtos = protocols
					_ = tls.Server(conn, config).HandshakeContext(t.Context())
				} else {
					_, _ = conn.Read(make([]byte, 4096))
				}
				_ = conn.Close()
			}
		}()
		c, err := New([]string{l.Addr().String()}, WithCA(keys.Signing().Authority().PEM()), WithOneShot())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.NextID(within(t, patience)); !errors.Is(err, rpc.ErrNotAPI) {
			t.Errorf("%s: %v, want %v", name, err, rpc.ErrNotAPI)
		}
		_ = c.Close()
	}
}

// After a rotation of the secret, the error of a client with the old pin or CA names the action to take.
func TestOldPinIsExplained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, old := startSecured(t, startFakes(t, 0)), trust.NewSecret().Authority()
		for name, option := range map[string]Option{
			"the CA":  WithCA(old.PEM()),
			"the pin": WithToken(trust.Token{ID: 7, Secret: trust.NewTokenSecret(), Pin: old.Pin()}.Text()),
		} {
			_, err := s.of.client(s.of.addrs(), option, WithOneShot()).NextID(within(t, patience))
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "another cluster secret") || !strings.Contains(err.Error(), "if the secret was replaced, use its new pin, CA or secret file") {
				t.Errorf("with %s of another secret: %v", name, err)
			}
		}
	})
}

func TestContradictingAccessOptionsRejected(t *testing.T) {
	t.Parallel()
	text := trust.Token{ID: 7, Secret: trust.NewTokenSecret()}.Text()
	pem := trust.NewSecret().Authority().PEM()
	for name, options := range map[string][]Option{
		"a token with a letter less": {WithToken(text[:len(text)-1])},
		"a CA that is none":          {WithCA([]byte("nothing"))},
		"a CA and credentials":       {WithCA(pem), WithTransportCredentials(insecure.NewCredentials())},
	} {
		_, err := New([]string{"a"}, options...)
		if err == nil || strings.Contains(err.Error(), text[:20]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
