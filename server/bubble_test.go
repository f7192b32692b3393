package server_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/test/bubble"
	"github.com/snowraft/snowraft/internal/test/memnet"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/frontend"
)

// networks holds the networks of tests in synthetic time.
var networks sync.Map // *memnet.Host by testing.TB

// inBubble runs a test in synthetic time, with all its members, gateways and clients on a network in memory. Only what goes
// through the functions below reaches them.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		networks.Store(t, memnet.New().Host("127.0.0.1"))
		t.Cleanup(func() { networks.Delete(t) })
		test(t)
	})
}

// networkOf returns the network of a test in synthetic time; nil for the machine's network.
func networkOf(t testing.TB) server.Network {
	if host, ok := networks.Load(t); ok {
		return host.(server.Network)
	}
	return nil
}

// placeOf returns the network of a test, also if it is the machine's.
func placeOf(t testing.TB) frontend.Network {
	if in := networkOf(t); in != nil {
		return in
	}
	return new(frontend.Machine)
}

// reach connects to an address in the network of a test.
func reach(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := placeOf(t).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// listen listens in the network of a test.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := placeOf(t).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// connect makes a gRPC connection in the network of a test. The caller closes it.
func connect(t testing.TB, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, append(opts, frontend.DialOptions(networkOf(t))...)...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// browser returns an HTTP client in the network of a test.
func browser(t testing.TB) *http.Client {
	in := networkOf(t)
	if in == nil {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // a bubble ends without connections
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return in.DialContext(ctx, network, address)
		},
	}}
}

// breathe lets a little time pass between the requests of a client that sends them without end. Synthetic time stands still
// while a goroutine is busy.
func breathe() { <-time.After(10 * time.Millisecond) }
