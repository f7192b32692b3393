package server_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// deaf is a connection that reads nothing once its flag is set.
type deaf struct {
	net.Conn
	deaf   *atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (d *deaf) Read(b []byte) (int, error) {
	if d.deaf.Load() {
		<-d.closed
		return 0, net.ErrClosed
	}
	return d.Conn.Read(b)
}

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}

// dialDeaf returns a client with a large flow-control window. The client reads nothing once the flag is set.
func dialDeaf(t *testing.T, address string) (snowraftv1.IdServiceClient, *atomic.Bool) {
	t.Helper()
	flag := new(atomic.Bool)
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(1<<30), grpc.WithInitialConnWindowSize(1<<30),
		grpc.WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
			return &deaf{Conn: reach(t, addr), deaf: flag, closed: make(chan struct{})}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return snowraftv1.NewIdServiceClient(conn), flag
}

// Clients that read no answers take a bounded part of the memory, whether they wait for their answers or cancel the calls.
// Other clients still get their part.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"waiting": 3 * time.Minute, "canceling": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) { unreadAnswers(t, patience) })
		})
	}
}

func unreadAnswers(t *testing.T, patience time.Duration) {
	n := startCluster(t, 1)[0]
	large := &snowraftv1.GenerateIdsRequest{Count: limits.Packed, Packed: new(true)}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	for range 4 { // more connections than there are shares
		client, flag := dialDeaf(t, n.server.APIAddr())
		if _, err := client.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{}); err != nil {
			t.Fatal(err)
		}
		flag.Store(true)
		for range 400 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				_, _ = client.GenerateIds(ctx, large)
			})
		}
	}
	deadline := time.Now().Add(time.Minute) // a refused call takes 5 s
	for ok := false; !ok; {
		resp, err := n.ids.GenerateIds(t.Context(), large, grpc.MaxCallRecvMsgSize(limits.AnswerBytes))
		switch ok = err == nil && len(resp.GetIds()) == limits.Packed; {
		case !ok && time.Now().After(deadline):
			t.Fatalf("another client gets no answer: %v", err)
		case err != nil:
			t.Log(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapInuse > 1<<30 {
			t.Fatalf("%d MB are in use", m.HeapInuse>>20)
		}
	}
}
