package client_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	strict  = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	relaxed = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
)

func TestSequencesInCluster(t *testing.T) {
	t.Parallel()
	c := startNumberCluster(t, 3)
	c.create(&snowraftv1.Sequence{Name: "strict", Mode: strict, Format: "ORD-{seq:05}"})
	c.create(&snowraftv1.Sequence{Name: "relaxed", Mode: relaxed, Format: "{date:yyyy}{seq:05}", TimeZone: "Asia/Tokyo"})
	cl := c.client()

	t.Run("strict order, many callers", func(t *testing.T) {
		// A new leader skips numbers that its predecessor may have issued. In that case, another sequence must show the next one.
		for attempt := range 3 {
			name := fmt.Sprintf("orders-%d", attempt)
			c.create(&snowraftv1.Sequence{Name: name, Mode: strict, Format: "ORD-{seq:05}"})
			s := cl.Sequence(name)
			if cl.Sequence(name) != s {
				t.Error("callers of one sequence do not share their calls")
			}
			last := inOrder(t, s)
			text, err := s.NextText(t.Context())
			if err != nil {
				t.Error(err)
			}
			if text == fmt.Sprintf("ORD-%05d", last+1) {
				return
			}
			t.Logf("%q after %d", text, last)
		}
		t.Error("no sequence continued with the next number")
	})
	t.Run("relaxed texts", func(t *testing.T) {
		texts, err := cl.Sequence("relaxed").Texts(t.Context(), 2000) // more numbers than members format
		if err != nil || len(texts) != 2000 || len(texts[0]) != 9 || texts[1999][4:] != "02000" && texts[1999][4:] <= texts[0][4:] {
			t.Error(len(texts), err)
		}
	})
	t.Run("once", func(t *testing.T) {
		for _, name := range []string{"strict", "relaxed"} {
			s := cl.Sequence(name)
			one, err := s.TakeOnce(t.Context(), "order-7", 5)
			if err != nil {
				t.Fatal(err)
			}
			two, err := c.client().Sequence(name).TakeOnce(t.Context(), "order-7", 5)
			if err != nil || one != two || one.Count != 5 {
				t.Errorf("%s: %v, then %v, %v", name, one, two, err)
			}
			if _, err := s.TakeOnce(t.Context(), "order-7", 6); !errors.Is(err, client.ErrRequestIDReused) {
				t.Error(err)
			}
		}
	})
	t.Run("the end", func(t *testing.T) {
		// A new leader skips numbers that its predecessor may have issued. In that case, another sequence must show the result.
		for attempt := range 3 {
			top, name := int64(10), fmt.Sprintf("short-%d", attempt)
			c.create(&snowraftv1.Sequence{Name: name, Mode: strict, Max: &top})
			s := cl.Sequence(name)
			var given atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if n, err := s.Take(t.Context(), 3); err == nil {
						given.Add(int64(n.Count))
					} else if !errors.Is(err, client.ErrSequenceExhausted) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			n, err := s.Next(t.Context())
			if given.Load() == 9 && n == 10 && err == nil {
				return
			}
			if given.Load() > 9 {
				t.Errorf("%d of 10 issued", given.Load())
			}
			t.Logf("%d issued, then %d, %v", given.Load(), n, err)
		}
		t.Error("no sequence issued 9 numbers to callers of 3, and then its last number")
	})
	t.Run("errors", func(t *testing.T) {
		if _, err := cl.Sequence("none").Next(t.Context()); !errors.Is(err, client.ErrUnknownSequence) {
			t.Error(err)
		}
		other := c.client()
		if _, err := other.Sequence("strict").Next(t.Context()); err != nil {
			t.Error(err)
		}
		_ = other.Close()
		if _, err := other.Sequence("strict").Next(t.Context()); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
	})
}

// inOrder has many callers take numbers, and fails the test if a number comes twice or is not greater than those of the calls
// before. It returns the greatest number.
func inOrder(t *testing.T, s *client.Sequence) int64 {
	t.Helper()
	var done atomic.Int64 // greatest number that a call returned
	var given sync.Map
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			for range 10 {
				floor := done.Load()
				n, err := s.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if _, twice := given.LoadOrStore(n, true); twice || n <= floor {
					t.Errorf("%d after %d, issued before: %t", n, floor, twice)
				}
				for last := done.Load(); n > last && !done.CompareAndSwap(last, n); last = done.Load() {
				}
			}
		})
	}
	all.Wait()
	return done.Load()
}
