package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestBufferWhenEmpty(t *testing.T) {
	down := errors.New("all members are down")
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: down}
		waits, fails := openBuffer(t, s), openBuffer(t, s, WithBufferNoWait())
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := waits.Next(ctx)
		for _, target := range []error{ErrEmpty, context.DeadlineExceeded, down} {
			if !errors.Is(err, target) {
				t.Errorf("%v is not %v", err, target)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("waited %v", took)
		}
		if err := waits.WaitReady(ctx); !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		began = time.Now()
		if _, err = waits.Next(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v without a deadline", err, time.Since(began))
		}
		began = time.Now()
		if _, err = fails.Next(t.Context()); !errors.Is(err, ErrEmpty) || !errors.Is(err, down) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		// Both buffers recover, and waiting callers get IDs.
		got := make(chan error)
		go func() {
			_, err := waits.Next(t.Context())
			got <- err
		}()
		synctest.Wait()
		s.fail(nil)
		if err := <-got; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * longestRefillPause)
		if _, err := fails.Next(t.Context()); err != nil {
			t.Error(err)
		}

		// The buffers issue the IDs that they hold.
		s.fail(down)
		for range 500 {
			if _, err := fails.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// synctest fails the test if a goroutine is left.
func TestBufferClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		s := &source{delay: func() time.Duration {
			if hang.Load() {
				return time.Hour
			}
			return 0
		}}
		b := openBuffer(t, s, WithBufferSize(10, 10), WithBufferThreshold(0))
		if err := b.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		hang.Store(true)
		got := make(chan error)
		go func() {
			for {
				if _, err := b.Next(t.Context()); err != nil {
					got <- err
					return
				}
			}
		}()
		synctest.Wait() // until the caller and the filler wait
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := b.WaitReady(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestBufferOptions(t *testing.T) {
	for n, o := range []BufferOption{
		WithBufferSize(0, 10), WithBufferSize(10, 9), WithBufferSize(1, mostBuffered+1), WithBufferSpan(0), WithBufferAge(time.Millisecond),
		WithBufferThreshold(-0.1), WithBufferThreshold(1), WithBufferInterval(0),
	} {
		if _, err := newBufferOptions([]BufferOption{o}); err == nil {
			t.Errorf("option %d was accepted", n)
		}
	}
}

// The rest of a chunk is counted once, when the chunk is closed, and no caller takes it.
func TestClosedChunkIsEmpty(t *testing.T) {
	c := &chunk{first: 1, step: 1, count: 3}
	b := new(Buffer)
	b.current.Store(c)
	if id, ok := b.TryNext(); !ok || id != 1 {
		t.Errorf("take() = %d, %v, want 1", id, ok)
	}
	for _, want := range []uint64{2, 0} {
		if left := c.close(); left != want {
			t.Errorf("close() = %d, want %d", left, want)
		}
		if id, ok := b.TryNext(); ok {
			t.Errorf("take() = %d of a closed chunk, want none", id)
		}
	}
}
