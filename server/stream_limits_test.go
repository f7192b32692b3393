package server_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// prompt fails unless the member answers the calls of another client within a time, and its requests on a stream.
func (n *node) prompt(within time.Duration) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), within)
	defer cancel()
	var calls sync.WaitGroup
	for range 64 {
		calls.Go(func() {
			if _, err := n.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{}); err != nil {
				n.t.Error(err)
			}
		})
	}
	s := n.streamIDs()
	for range 50 {
		if id := s.ask(nil); s.answer().GetId() != id {
			n.t.Error("the answer to another request")
		}
	}
	calls.Wait()
}

// A stream occupies one of gRPC's worker goroutines, of which there are 16 per processor. The member serves calls and further
// streams even if streams occupy all of these goroutines.
func TestStreamsOccupyAllWorkers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		var open []*idStream
		for range 16*runtime.GOMAXPROCS(0) + 16 {
			s := n.streamIDs()
			s.ask(nil)
			s.answer() // the member serves the stream now
			open = append(open, s)
		}
		n.prompt(5 * time.Second)
		for _, s := range open {
			if id := s.ask(nil); s.answer().GetId() != id {
				t.Error("the answer to another request")
			}
		}
	})
}

// A client that reads nothing from its stream stops only that stream. The member still serves other clients, and finishes the
// waiting requests of the stream, although it cannot send their answers.
func TestUnreadStreamStopsOnlyItself(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		client, deaf := dialDeaf(t, n.server.APIAddr())
		stream, err := client.StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &idStream{t, stream, 0}
		s.ask(nil)
		now := expand(s.answer().GetResponse())[0]
		deaf.Store(true)
		for range 40 { // the requests wait, and the member answers them while the client reads nothing
			s.ask(&snowraftv1.GenerateIdsRequest{After: ahead(now, 100*time.Millisecond)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var sending sync.WaitGroup
		defer sending.Wait()
		defer cancel()
		large, err := client.StreamIds(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sending.Go(func() {
			for large.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 10_000, Packed: new(true)}}) == nil {
			} // the loop ends when the member reads no more
		})
		n.prompt(patience)
		n.prompt(patience)
	})
}
