package mux

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// client is the client's end of a stream that a Server serves.
type client struct {
	requests chan *snowraftv1.StreamIdsRequest
	answers  chan uint64
	ctx      context.Context
	full     bool // Begin returns false
	served   chan error

	mu      sync.Mutex
	waiting map[uint64]chan struct{} // requests that wait, until the channel is closed
	began   map[uint64]*task         // requests that wait without a goroutine
	begun   int                      // places in use
	reading int                      // goroutines that read
	jobs    int

	announced int
	end       context.CancelFunc // requests the end of the stream
}

// errLast ends a stream; it is the answer to a request for the layout "last".
var errLast = errors.New("the last request")

// task is a job that is tried without success if it requests the layout "waits".
type task struct {
	IDRequest
	of     *client
	answer snowraftv1.StreamIdsResponse
	err    error // the context's, after a wait
}

func (k *task) Request() Received { return k.IDRequest }

func (k *task) Try(time.Time, time.Time) (Outcome, error) {
	switch k.StreamIdsRequest.GetRequest().GetLayout() {
	case "waits":
		return Waits, nil
	case "begins":
		k.of.mu.Lock()
		defer k.of.mu.Unlock()
		k.of.began[k.GetId()] = k
		return Begun, nil
	case "last":
		return Done, errLast
	default:
		return Done, nil
	}
}

func (k *task) Wait(ctx context.Context) {
	released := make(chan struct{})
	k.of.mu.Lock()
	k.of.waiting[k.GetId()] = released
	k.of.mu.Unlock()
	select {
	case <-released:
	case <-ctx.Done():
		k.err = ctx.Err()
	}
}

func (k *task) Answer() any {
	k.answer.Id = k.GetId()
	return &k.answer
}

func (k *task) Clear() {
	k.IDRequest.Clear()
	k.answer.Reset()
}

func (c *client) Context() context.Context { return c.ctx }

func (c *client) RecvMsg(m any) error {
	c.count(&c.reading, 1)
	defer c.count(&c.reading, -1)
	select {
	case req, ok := <-c.requests:
		if !ok {
			return io.EOF
		}
		proto.Merge(m.(IDRequest).StreamIdsRequest, req)
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (c *client) SendMsg(m any) error {
	select {
	case c.answers <- m.(*snowraftv1.StreamIdsResponse).GetId():
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (c *client) count(n *int, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n += by
}

func (c *client) method() Method {
	return Method{
		Job: func() Job {
			c.count(&c.jobs, 1)
			return &task{IDRequest: IDRequest{&snowraftv1.StreamIdsRequest{Request: new(snowraftv1.GenerateIdsRequest)}}, of: c}
		},
		Begin: func() bool {
			if !c.full {
				c.count(&c.begun, 1)
			}
			return !c.full
		},
		End:      func() { c.count(&c.begun, -1) },
		Announce: func(Job) { c.count(&c.announced, 1) },
		Invalid:  func(message string) error { return errors.New(message) },
	}
}

// serve starts a Server. unread is the number of answers that it can send before the client reads one.
func serve(ctx context.Context, unread int) (*client, *Server) {
	c := &client{
		requests: make(chan *snowraftv1.StreamIdsRequest), answers: make(chan uint64, unread), ctx: ctx,
		served: make(chan error, 1), waiting: make(map[uint64]chan struct{}), began: make(map[uint64]*task),
	}
	s := NewServer(c, c.method())
	var ending context.Context
	ending, c.end = context.WithCancel(ctx)
	go func() {
		defer c.end()
		c.served <- s.Serve(ending)
	}()
	return c, s
}

// ask sends a request, and reports whether the Server read it.
func (c *client) ask(id uint64, layout string) bool {
	synctest.Wait()
	c.mu.Lock()
	reading := c.reading
	c.mu.Unlock()
	if reading == 0 {
		return false
	}
	c.requests <- &snowraftv1.StreamIdsRequest{Id: id, Request: &snowraftv1.GenerateIdsRequest{Layout: layout}}
	synctest.Wait()
	return true
}

// release lets a request that waits end.
func (c *client) release(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.waiting[id])
}

func (c *client) want(t *testing.T, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		synctest.Wait()
		select {
		case got := <-c.answers:
			if got != id {
				t.Errorf("request %d was answered, want %d", got, id)
			}
		default:
			t.Fatalf("no answer, want one to request %d", id)
		}
	}
}

// close ends the stream and returns the result of Serve.
func (c *client) close() error {
	close(c.requests)
	return <-c.served
}
