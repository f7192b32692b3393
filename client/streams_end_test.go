package client

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A member that is about to shut down announces the end of the stream and answers the sent requests. It gets no further requests.
func TestStreamDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 2)
		m := f.members[0]
		m.does(slowly(m, 3*time.Millisecond))
		use(t, c, m)
		var wg sync.WaitGroup
		wg.Go(func() { askAll(t, c, 20, 2) })
		time.Sleep(time.Millisecond)
		if m.asked.Load() == 0 {
			t.Error("no request is in progress")
		}
		m.serving(false)
		m.carriers.each(func(s *carrierOfFake) { s.send(&snowraftv1.StreamIdsResponse{}) })
		wg.Wait()
		until(t, "the stream ends", func() bool { return m.carriers.each(func(*carrierOfFake) {}) == 0 })
		asked := m.asked.Load()
		askAll(t, c, 10, 20)
		if n := m.asked.Load() - asked; n != 0 {
			t.Errorf("%d requests after the end", n)
		}
	})
}

// A proxy may end streams at any time: no call fails, and another stream opens.
func TestEndedStreamsAreReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		m := f.members[0]
		m.does(slowly(m, time.Millisecond))
		done := make(chan struct{})
		go func() {
			defer close(done)
			askAll(t, c, 20, 300)
		}()
		for range 5 {
			time.Sleep(30 * time.Millisecond)
			m.carriers.each(func(s *carrierOfFake) { s.stop() })
		}
		<-done
		opened := m.carriers.opened()
		until(t, "another stream is open", func() bool {
			askAll(t, c, 1, 1)
			return m.carriers.opened() > opened || m.carriers.each(func(*carrierOfFake) {}) == 1
		})
	})
}

// Streams to members that left and unused streams end.
func TestUnusedStreamsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 2)
		gone := f.members[0]
		c.ids.update(nil, []string{f.members[1].addr})
		until(t, "the stream to the member that left has ended", func() bool { return gone.carriers.each(func(*carrierOfFake) {}) == 0 })
		askAll(t, c, 4, 4)

		f = startFakes(t, 1)
		f.members[0].streams.Store(true)
		c = f.client(f.addrs())
		c.idStreams.idle = 50 * time.Millisecond
		until(t, "a request is carried", func() bool { askAll(t, c, 1, 1); return f.members[0].carried.Load() > 0 })
		until(t, "the unused stream has ended", func() bool { return f.members[0].carriers.each(func(*carrierOfFake) {}) == 0 })
		askAll(t, c, 4, 4)
	})
}

// Calls on streams fail with ErrClosed when the client is closed.
func TestStreamClientCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		f.members[0].hangs()
		failed := make(chan error, 10)
		asked := f.members[0].asked.Load()
		for range cap(failed) {
			go func() {
				_, err := c.NextID(t.Context())
				failed <- err
			}()
		}
		until(t, "a request is in progress", func() bool { return f.members[0].asked.Load() > asked })
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range cap(failed) {
			if err := <-failed; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
	})
}
