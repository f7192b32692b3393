package client

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// ward is a cluster that grants blocks of one relaxed sequence.
type ward struct {
	snowraftv1.SequenceServiceClient
	delay time.Duration // time to grant a block
	max   uint64        // greatest size of a block

	mu         sync.Mutex
	generation uint64 // 0: the sequence does not exist
	next       int64
	token      uint64
	down       error
	looks      int
	blocks     int
	returned   uint64
	key        []byte // key of the last request for a block
}

func (w *ward) state() error {
	if w.down != nil {
		return w.down
	}
	if w.generation == 0 {
		return newError(&rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: "no such sequence"}, "")
	}
	return nil
}

func (w *ward) GetSequence(context.Context, *snowraftv1.GetSequenceRequest, ...grpc.CallOption) (*snowraftv1.GetSequenceResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	if err := w.state(); err != nil {
		return nil, err
	}
	return &snowraftv1.GetSequenceResponse{Sequence: &snowraftv1.Sequence{Generation: w.generation}}, nil
}

func (w *ward) AllocateBlock(_ context.Context, req *snowraftv1.AllocateBlockRequest, _ ...grpc.CallOption) (*snowraftv1.AllocateBlockResponse, error) {
	time.Sleep(w.delay)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.state(); err != nil {
		return nil, err
	}
	w.token++
	w.blocks++
	w.key = req.GetReturnKey()
	b := &snowraftv1.Block{
		Token: w.token, First: w.next, Count: req.GetCount(), Increment: 1, Generation: w.generation, BlockDurationMs: 1000, MinBlock: 100, MaxBlock: max(1000, w.max),
	}
	w.next += int64(req.GetCount())
	return &snowraftv1.AllocateBlockResponse{Block: b}, nil
}

func (w *ward) ReturnBlock(_ context.Context, req *snowraftv1.ReturnBlockRequest, _ ...grpc.CallOption) (*snowraftv1.ReturnBlockResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.GetToken() == w.token && len(w.key) == 16 && bytes.Equal(req.GetReturnKey(), w.key) {
		w.returned += req.GetUnused()
	}
	return &snowraftv1.ReturnBlockResponse{}, w.down
}

// set sets the next number of the sequence, in a new generation; 0 deletes the sequence.
func (w *ward) set(next int64, generation uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.generation = next, generation
}

func (w *ward) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = err
}

func (w *ward) looked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks
}

func openBlocks(t *testing.T, w *ward, opts ...BlocksOption) *Blocks {
	t.Helper()
	b, err := newBlocks(w, limits.CallTimeout, "s", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}

func TestBlocksIssueNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ward{delay: 5 * time.Millisecond, generation: 1, next: 1}
		b := openBlocks(t, w)
		var mu sync.Mutex
		given := make(map[int64]bool)
		var all sync.WaitGroup
		for k := range 20 {
			all.Go(func() {
				last := int64(0)
				for range 200 {
					n, err := b.Take(t.Context(), 1+k%3)
					if err != nil || n.Count != 1+k%3 || n.First <= last {
						t.Errorf("%v after %d, %v", n, last, err)
						return
					}
					last = n.First
					mu.Lock()
					for number := range n.All() {
						if given[number] {
							t.Errorf("%d twice", number)
						}
						given[number] = true
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
				}
			})
		}
		all.Wait()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		stats := b.Stats()
		if stats.Taken != uint64(len(given)) || w.returned == 0 || int64(stats.Taken+stats.Skipped+w.returned) != w.next-1 {
			t.Errorf("%d of %d issued, %d returned: %+v", len(given), w.next-1, w.returned, stats)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func mustNext(t *testing.T, b *Blocks, want int64) {
	t.Helper()
	if n, err := b.Next(t.Context()); n != want || err != nil {
		t.Errorf("%d, %v instead of %d", n, err, want)
	}
}

func TestBlocksLearnChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ward{delay: 5 * time.Millisecond, generation: 1, next: 1}
		b := openBlocks(t, w, WithBlocksRefresh(time.Second))
		mustNext(t, b, 1)
		w.set(1001, 2)
		mustNext(t, b, 2) // the change is not known yet
		time.Sleep(1001 * time.Millisecond)
		mustNext(t, b, 1001)

		// While the Blocks is not in use, it requests nothing. The next call first requests the state.
		time.Sleep(time.Minute)
		before := w.looked()
		w.set(2001, 3)
		time.Sleep(time.Hour)
		if w.looked() != before {
			t.Errorf("%d looks without a caller", w.looked()-before)
		}
		mustNext(t, b, 2001)

		// While no member can be reached, the Blocks issues the numbers that it holds, even after a pause.
		w.fail(errors.New("down"))
		time.Sleep(10 * time.Second)
		mustNext(t, b, 2002)
		time.Sleep(time.Hour)
		mustNext(t, b, 2003)
		w.fail(nil)

		// The sequence is deleted and created again.
		w.set(0, 0)
		time.Sleep(1001 * time.Millisecond)
		if n, err := b.Next(t.Context()); !errors.Is(err, ErrUnknownSequence) {
			t.Errorf("%d, %v of a deleted sequence", n, err)
		}
		w.set(1, 9)
		mustNext(t, b, 1)
	})
}

// Concurrent callers after a pause cause one look, and all wait for it.
func TestBlocksLookOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ward{delay: 5 * time.Millisecond, generation: 1, next: 1}
		b := openBlocks(t, w)
		for round := range 3 {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if _, err := b.Next(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if looks := w.looked(); looks != 1+2*round {
				t.Errorf("%d looks", looks)
			}
			time.Sleep(time.Minute) // the look after the last use
		}
	})
}

func TestBlocksErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ward{delay: 5 * time.Millisecond, generation: 1, next: 1}
		b := openBlocks(t, w)
		for _, n := range []int{-1, 0, limits.Count + 1} {
			if _, err := b.Take(t.Context(), n); !errors.Is(err, ErrInvalidArgument) {
				t.Error(err)
			}
		}
		for _, c := range []struct {
			from error
			is   error
		}{
			{&rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.StrictSequence}, ErrStrictSequence},
			{&rpc.Error{Code: codes.ResourceExhausted, Reason: rpc.SequenceExhausted}, ErrSequenceExhausted},
			{&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader}, ErrNoLeader},
			{&rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockSkew}, ErrClockSkew},
			{&rpc.Error{Code: codes.Unavailable}, ErrUnavailable},
			{ErrClosed, ErrClosed},
		} {
			w.fail(c.from)
			if n, err := b.Next(t.Context()); !errors.Is(err, c.is) {
				t.Errorf("%d, %v is not %v", n, err, c.is)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w.fail(nil)
		if n, err := b.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(n, err)
		}
		for _, o := range []BlocksOption{WithBlocksRefresh(time.Millisecond), WithBlocksFirstSize(0), WithBlocksFirstSize(limits.Count + 1)} {
			if _, err := newBlocks(w, time.Second, "s", []BlocksOption{o}); err == nil {
				t.Error("an invalid option was accepted")
			}
		}
	})
}

func BenchmarkBlocksNext(b *testing.B) {
	w := &ward{max: 100_000_000, generation: 1, next: 1}
	blocks, err := newBlocks(w, limits.CallTimeout, "s", []BlocksOption{WithBlocksFirstSize(limits.Count)})
	if err != nil {
		b.Fatal(err)
	}
	defer blocks.Close(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blocks.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
