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
	for name, test := range map[string]func(t *testing.T, c *numberCluster, cl *client.Client){
		"strict order, many callers": sequencesInStrictOrder,
		"relaxed texts":              sequencesRelaxedTexts,
		"once":                       sequencesOnce,
		"the end":                    sequencesEnd,
		"a period":                   sequencesOfPeriods,
		"errors":                     sequencesErrors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				c := startNumberCluster(t, 3)
				c.create(&snowraftv1.Sequence{Name: "strict", Mode: strict, Format: "ORD-{seq:05}"})
				c.create(&snowraftv1.Sequence{Name: "relaxed", Mode: relaxed, Format: "{date:yyyy}{seq:05}", TimeZone: "Asia/Tokyo"})
				test(t, c, c.client())
			})
		})
	}
}

func sequencesInStrictOrder(t *testing.T, _ *numberCluster, cl *client.Client) {
	s := cl.Sequence("strict")
	if cl.Sequence("strict") != s {
		t.Error("callers of one sequence do not share their calls")
	}
	last := inOrder(t, s)
	if text, err := s.NextText(t.Context()); err != nil || text != fmt.Sprintf("ORD-%05d", last+1) {
		t.Errorf("%q after %d, %v", text, last, err)
	}
}

func sequencesRelaxedTexts(t *testing.T, _ *numberCluster, cl *client.Client) {
	texts, err := cl.Sequence("relaxed").Texts(t.Context(), 2000) // more numbers than members format
	if err != nil || len(texts) != 2000 || len(texts[0]) != 9 || texts[1999][4:] != "02000" && texts[1999][4:] <= texts[0][4:] {
		t.Error(len(texts), err)
	}
}

func sequencesOnce(t *testing.T, c *numberCluster, cl *client.Client) {
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
}

func sequencesEnd(t *testing.T, c *numberCluster, cl *client.Client) {
	top := int64(10)
	c.create(&snowraftv1.Sequence{Name: "short", Mode: strict, Max: &top})
	s := cl.Sequence("short")
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
	if n, err := s.Next(t.Context()); given.Load() != 9 || n != 10 || err != nil {
		t.Errorf("%d numbers issued to callers of 3, then %d, %v; want 9, then 10", given.Load(), n, err)
	}
}

func sequencesErrors(t *testing.T, c *numberCluster, cl *client.Client) {
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
