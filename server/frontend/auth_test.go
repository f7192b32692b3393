package frontend

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []string
		want   string
		ok     bool
	}{
		"none":         {nil, "", true},
		"a token":      {[]string{"Bearer snowraft_1_x"}, "snowraft_1_x", true},
		"lower case":   {[]string{"bearer x"}, "x", true},
		"no token":     {[]string{"Bearer "}, "", false},
		"no scheme":    {[]string{"snowraft_1_x"}, "", false},
		"another":      {[]string{"Basic eDp5"}, "", false},
		"empty":        {[]string{""}, "", false},
		"two of them":  {[]string{"Bearer a", "Bearer b"}, "", false},
		"scheme alone": {[]string{"Bearer"}, "", false},
	} {
		got, err := bearer(c.values)
		denied, _ := errors.AsType[*trust.Denied](err)
		if got != c.want || (err == nil) != c.ok || err != nil && (denied == nil || !denied.Unauthenticated) {
			t.Errorf("%s: bearer() = %q, %v", name, got, err)
		}
	}
}

// addressed records the addresses of its tokens' callers.
type addressed struct {
	oneToken
	seen chan string
}

func (a addressed) Authenticate(ctx context.Context, text string) (*trust.Principal, error) {
	a.seen <- Address(ctx)
	return a.oneToken.Authenticate(ctx, text)
}

// The authorizer learns the address of a caller, so that it can divide its slots among addresses.
func TestAddressReachesTheAuthorizer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, addressReachesTheAuthorizer)
}

func addressReachesTheAuthorizer(t *testing.T) {
	tokens := addressed{oneToken{trust.NewAuthorizer(noTable{})}, make(chan string, 1)}
	auth := &Auth{Tokens: tokens}
	_, connect := serveEcho(t, auth, 256*mib)
	if _, err := snowraftv1.NewClusterServiceClient(connect()).GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := <-tokens.seen; !strings.HasPrefix(got, "192.0.2.1:") {
		t.Errorf("gRPC: address %q, want that of the client", got)
	}
	r := httptest.NewRequest(http.MethodGet, "/id", http.NoBody)
	r.Header.Set("Authorization", "Bearer good")
	if _, err := auth.Caller(r, ""); err != nil {
		t.Fatal(err)
	}
	if got := <-tokens.seen; got != r.RemoteAddr {
		t.Errorf("HTTP: address %q, want %q", got, r.RemoteAddr)
	}
}

// An open cluster takes no notice of tokens, so that clients can have theirs before their cluster is secured.
func TestNilAuthIsOpen(t *testing.T) {
	t.Parallel()
	var none *Auth
	a := none.noting(slog.New(slog.DiscardHandler))
	r := httptest.NewRequest(http.MethodGet, "/id", http.NoBody)
	r.Header.Set("Authorization", "Basic eDp5")
	if p, err := a.Caller(r, "anything"); p != trust.Open() || err != nil {
		t.Errorf("Caller() = %s, %v", p.Actor(), err)
	}
}
