package mux

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
)

// A request that waits delays no others, and Serve returns when all are answered.
func TestWaitingRequestDelaysNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := serve(t.Context(), 10)
		c.ask(1, "waits")
		c.ask(2, "")
		c.ask(3, "waits")
		c.ask(4, "")
		c.want(t, 2, 4)
		c.release(3)
		c.want(t, 3)
		close(c.requests)
		synctest.Wait()
		if len(c.served) > 0 || c.begun != 1 {
			t.Errorf("Serve has returned, or %d places are in use, while a request waits", c.begun)
		}
		c.release(1)
		if err := <-c.served; err != nil || c.begun != 0 {
			t.Errorf("Serve() = %v, %d places in use", err, c.begun)
		}
		c.want(t, 1)
	})
}

// While too many requests are pending, the stream is not read. Once any of them is answered, it is.
func TestFullStreamIsReadAfterAnyAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := serve(t.Context(), 10)
		for id := range uint64(MaxPending + 1) {
			if !c.ask(id+1, "waits") {
				t.Fatalf("request %d was not read", id+1)
			}
		}
		if c.ask(1000, "") {
			t.Fatalf("a request was read while %d are pending", MaxPending+1)
		}
		c.release(7)
		c.want(t, 7)
		if !c.ask(1000, "") {
			t.Fatal("no request was read after an answer")
		}
		c.want(t, 1000)
		for id := range c.waiting {
			if id != 7 {
				c.release(id)
				c.want(t, id)
			}
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
}

// A client that reads no answers gets no further requests served, and its requests that wait end.
func TestUnreadAnswersStopTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, s := serve(ctx, 0)
		for id := range uint64(10) {
			c.ask(id+1, "waits")
		}
		for id := range uint64(10) {
			c.release(id + 1)
			synctest.Wait()
		}
		served := 0
		for served < 2*MaxPending && c.ask(100, "") {
			served++
		}
		if c.begun != 0 || served != MaxPending+1-10 || s.pending != MaxPending+1 {
			t.Errorf("%d requests still wait, %d further ones were read, %d are pending", c.begun, served, s.pending)
		}
		for id := range uint64(10) {
			c.want(t, id+1)
		}
		cancel()
		if err := <-c.served; !errors.Is(err, context.Canceled) || s.pending != 0 {
			t.Errorf("Serve() = %v, %d pending", err, s.pending)
		}
	})
}

// Without a place for a request that waits, the goroutine that reads serves it, so the stream is not read meanwhile.
func TestRequestWithoutPlaceStopsTheReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := serve(t.Context(), 10)
		c.full = true
		c.ask(1, "waits")
		if c.ask(2, "") {
			t.Error("the stream is read")
		}
		c.release(1)
		c.want(t, 1)
		c.ask(2, "")
		c.want(t, 2)
		if err := c.close(); err != nil || c.begun != 0 {
			t.Errorf("Serve() = %v, %d places in use", err, c.begun)
		}
	})
}

// A request waits until its own timeout, the timeout of all calls, or the end of the stream.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout uint32 // ms
		cancel  time.Duration
		want    time.Duration
		err     error
	}{
		"timeout":           {250, time.Hour, 250 * time.Millisecond, context.DeadlineExceeded},
		"no timeout":        {0, time.Hour, limits.CallTimeout, context.DeadlineExceeded},
		"long timeout":      {1 << 31, time.Hour, limits.CallTimeout, context.DeadlineExceeded},
		"end of the stream": {250, 50 * time.Millisecond, 50 * time.Millisecond, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, nil)
				defer cancel()
				time.AfterFunc(c.cancel, cancel)
				other, _ := serve(ctx, 10)
				k := other.method().Job().(*task)
				k.TimeoutMs = c.timeout
				began := time.Now()
				(&Server{stream: other}).wait(k, deadline(k.Request(), began))
				if took := time.Since(began); took != c.want || !errors.Is(k.err, c.err) {
					t.Errorf("the wait ended after %v with %v, want %v and %v", took, k.err, c.want, c.err)
				}
			})
		})
	}
}

// An error ends the stream after the answers to all requests before it.
func TestErrorsEndStream(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(c *client){
		"last request": func(c *client) { c.ask(2, "last") },
		"ID 0":         func(c *client) { c.ask(0, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t.Context(), 10)
				c.ask(1, "waits")
				last(c)
				if c.ask(3, "") {
					t.Error("the stream is read after its end")
				}
				c.release(1)
				if err := <-c.served; err == nil || (name == "last request") != errors.Is(err, errLast) {
					t.Errorf("Serve() = %v", err)
				}
				if name == "last request" {
					c.want(t, 2)
				}
				c.want(t, 1)
			})
		})
	}
}

// The end of a stream is announced, also if the stream begins later. Its requests are still answered.
func TestEndIsAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		present, _ := serve(t.Context(), 10)
		present.end()
		later, _ := serve(t.Context(), 10)
		later.end()
		for _, c := range []*client{present, later} {
			c.want(t, 0)
			c.ask(1, "")
			c.want(t, 1)
			if err := c.close(); err != nil || c.announced != 1 {
				t.Errorf("Serve() = %v, %d announcements", err, c.announced)
			}
		}
		ended, _ := serve(t.Context(), 10)
		if err := ended.close(); err != nil {
			t.Error(err)
		}
		ended.end()
		if synctest.Wait(); ended.announced != 0 {
			t.Error("the end of a stream that has ended is announced")
		}
	})
}

// A stream uses few jobs, and empties them.
func TestJobsAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := serve(t.Context(), 100)
		for id := range uint64(20) {
			c.ask(id+1, "waits")
			c.release(id + 1)
		}
		synctest.Wait()
		if c.jobs > keptJobs || slices.ContainsFunc(s.unused, func(j Job) bool { return j.Request().GetId() != 0 }) {
			t.Errorf("%d jobs were made, unused: %v", c.jobs, s.unused)
		}
		for id := range uint64(20) {
			c.ask(id+100, "waits")
		}
		for id := range uint64(20) {
			c.release(id + 100)
		}
		if synctest.Wait(); len(s.unused) > keptJobs {
			t.Errorf("%d unused jobs", len(s.unused))
		}
		_ = c.close()
	})
}

// looping is a stream whose client has sent many requests, and reads all answers.
type looping struct {
	ctx  context.Context
	left int
}

func (l *looping) Context() context.Context { return l.ctx }

func (l *looping) RecvMsg(m any) error {
	if l.left--; l.left < 0 {
		return io.EOF
	}
	m.(IDRequest).Id = 1
	return nil
}

func (l *looping) SendMsg(any) error { return nil }

// A request that does not wait allocates nothing.
func TestServedRequestsAllocateNothing(t *testing.T) {
	c := &client{ctx: t.Context()}
	const requests = 1000
	perStream := func(n int) float64 {
		return testing.AllocsPerRun(10, func() {
			if err := NewServer(&looping{ctx: t.Context(), left: n}, c.method()).Serve(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if one, many := perStream(1), perStream(requests+1); many > one+1 {
		t.Errorf("%d further requests allocate %v times", requests, many-one)
	}
}

// A request that waits without a goroutine delays no other. Its answer is sent later, and whoever made it does not wait for the client.
func TestBegunRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := serve(t.Context(), 2)
		for id := uint64(1); id <= 4; id++ {
			c.ask(id, "begins")
		}
		c.ask(5, "")
		c.want(t, 5)
		made := make(chan struct{})
		go func() {
			for id := uint64(4); id > 0; id-- {
				s.End(c.began[id])
			}
			close(made)
		}()
		synctest.Wait()
		select {
		case <-made:
		default:
			t.Error("the answers wait for the client, which reads two of them only")
		}
		c.want(t, 4, 3, 2, 1)
		c.ask(6, "begins")
		close(c.requests)
		synctest.Wait()
		if len(c.served) > 0 {
			t.Error("the stream ended before an answer")
		}
		s.End(c.began[6])
		c.want(t, 6)
		if err := <-c.served; err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
}
