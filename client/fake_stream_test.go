package client

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// carriers are the open streams of a fake member.
type carriers struct {
	mu   sync.Mutex
	open map[*carrierOfFake]bool
	all  int
	last atomic.Uint64 // ID of the last request on a stream
}

type carrierOfFake struct {
	snowraftv1.IdService_StreamIdsServer
	sending sync.Mutex
	stop    context.CancelFunc
}

func (c *carrierOfFake) send(resp *snowraftv1.StreamIdsResponse) {
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.Send(resp)
}

// each calls f with each open stream and returns the number of open streams.
func (cs *carriers) each(f func(*carrierOfFake)) int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		f(c)
	}
	return len(cs.open)
}

// opened returns the number of streams opened until now.
func (cs *carriers) opened() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.all
}

func (m *fake) StreamIds(stream snowraftv1.IdService_StreamIdsServer) error {
	switch {
	case !m.streams.Load():
		return status.Error(codes.Unimplemented, "refused by the test")
	case m.deaf.Load():
		<-stream.Context().Done()
		return nil
	}
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	c := &carrierOfFake{IdService_StreamIdsServer: stream, stop: stop}
	m.carriers.mu.Lock()
	if m.carriers.open == nil {
		m.carriers.open = make(map[*carrierOfFake]bool)
	}
	m.carriers.open[c] = true
	m.carriers.all++
	m.carriers.mu.Unlock()
	defer func() {
		m.carriers.mu.Lock()
		defer m.carriers.mu.Unlock()
		delete(m.carriers.open, c)
	}()
	ended := make(chan struct{})
	var answers sync.WaitGroup
	go func() {
		defer close(ended)
		for {
			req, err := stream.Recv()
			if err != nil {
				return
			}
			m.carriers.last.Store(req.GetId())
			m.carried.Add(1)
			answers.Go(func() { m.carry(ctx, c, req) })
		}
	}()
	select {
	case <-ended: // the client ended the stream
		answers.Wait()
	case <-ctx.Done():
	}
	return nil
}

// carry answers a request on a stream.
func (m *fake) carry(ctx context.Context, c *carrierOfFake, req *snowraftv1.StreamIdsRequest) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.GetTimeoutMs())*time.Millisecond)
	defer cancel()
	resp, err := m.GenerateIds(ctx, req.GetRequest())
	if err != nil {
		s, ok := status.FromError(err)
		if !ok {
			s = status.FromContextError(err)
		}
		c.send(&snowraftv1.StreamIdsResponse{Id: req.GetId(), Error: s.Proto()})
		return
	}
	c.send(&snowraftv1.StreamIdsResponse{Id: req.GetId(), Response: resp})
}

// startStreams starts members with streams, and returns a client that has a stream to each.
func startStreams(t *testing.T, n int, opts ...Option) (*fakes, *Client) {
	f := startFakes(t, n)
	for _, m := range f.members {
		m.streams.Store(true)
	}
	c := f.client(f.addrs(), opts...)
	until(t, "there is a stream to each member", func() bool {
		if _, err := c.NextID(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.idStreams.mu.Lock()
		c.idStreams.current = nil // the next request chooses again
		c.idStreams.mu.Unlock()
		for _, m := range f.members {
			if m.carried.Load() == 0 {
				return false
			}
		}
		return true
	})
	return f, c
}

// chooses reports whether a stream is open.
func chooses(s *streams) bool {
	_, to := s.choose()
	return to != nil
}

// use sends the next requests to a member's stream until the member is slow, refuses or is suspected.
func use(t *testing.T, c *Client, m *fake) {
	t.Helper()
	s := c.idStreams
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[m.addr]
	if l == nil || !l.usable() {
		t.Fatalf("no stream to %s", m.addr)
	}
	s.current, s.chosen, l.rests = l, time.Now(), time.Time{}
}

// untilAnswered waits until a member has answered all requests on its stream.
func untilAnswered(t *testing.T, c *Client, m *fake) {
	t.Helper()
	c.idStreams.mu.Lock()
	stream := c.idStreams.lines[m.addr].stream
	c.idStreams.mu.Unlock()
	until(t, "all requests are answered", stream.Idle)
}
