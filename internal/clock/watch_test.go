package clock

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// hand is a clock that a test sets.
type hand struct{ wall, mono int64 }

func (h *hand) read() Reading        { return Reading{Wall: h.wall, Mono: h.mono} }
func (h *hand) pass(d time.Duration) { h.wall += d.Milliseconds(); h.mono += d.Milliseconds() }
func (h *hand) jump(d time.Duration) { h.wall += d.Milliseconds() }

func newWatch() (*Watch, *hand, *atomic.Int64) {
	h := &hand{wall: 1_800_000_000_000, mono: 5}
	observed := new(atomic.Int64)
	return NewWatch(h.read, observed, Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond}), h, observed
}

func TestForwardJumpIsSeenAtOnceAndForgivenWhenUndone(t *testing.T) {
	w, h, _ := newWatch()
	h.pass(time.Minute)
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("a clock that goes right: %v", err)
	}
	h.jump(time.Hour)
	var skew *SkewError
	if err := w.Check(w.Now()); !errors.As(err, &skew) || skew.Ahead != time.Hour {
		t.Fatalf("after a jump of 1 h: %v", err)
	}
	w.Update()
	if err := w.Check(w.Now()); err == nil {
		t.Fatal("the jump was taken for the right time")
	}
	h.jump(-time.Hour)
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("after the jump was undone: %v", err)
	}
}

func TestSlewIsFollowed(t *testing.T) {
	w, h, _ := newWatch()
	for range 100 {
		h.pass(time.Second)
		h.jump(20 * time.Millisecond)
		w.Update()
		if err := w.Check(w.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBehindObservedClock(t *testing.T) {
	w, h, observed := newWatch()
	observed.Store(h.wall)
	h.jump(-time.Second)
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("behind by the threshold: %v", err)
	}
	h.jump(-time.Millisecond)
	var behind *BehindError
	if err := w.Check(w.Now()); !errors.As(err, &behind) || behind.Behind != 1001*time.Millisecond || behind.RetryAfter() != time.Millisecond {
		t.Fatalf("behind by more: %v", err)
	}
	w.SetLimits(Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond, Swap: true})
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("under swap: %v", err)
	}
}

func TestMajorityDecides(t *testing.T) {
	for _, c := range []struct {
		name     string
		peers    []time.Duration // how far each peer is ahead of us
		skew     bool
		off      bool
		disputed bool
	}{
		{"alone", nil, false, false, false},
		{"one that agrees", []time.Duration{100 * time.Millisecond}, false, false, false},
		{"one that does not", []time.Duration{-time.Hour}, false, false, true},
		{"two say we are ahead", []time.Duration{-time.Hour, -time.Hour}, true, true, false},
		{"two say we are behind", []time.Duration{time.Hour, time.Hour}, false, true, false},
		{"one of two is wrong", []time.Duration{-time.Hour, 0}, false, false, false},
		{"one of three is wrong", []time.Duration{-time.Hour, 0, 0}, false, false, false},
		{"three of four say we are ahead", []time.Duration{-time.Hour, -time.Hour, -time.Hour, 0}, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, h, _ := newWatch()
			for i, d := range c.peers {
				w.ObservePeer(string(rune('a'+i)), h.wall+d.Milliseconds(), 0)
			}
			w.Update()
			if got := w.Check(w.Now()) != nil; got != c.skew {
				t.Errorf("refused: %v", got)
			}
			if got := w.Off(); got != c.off {
				t.Errorf("off: %v, offset %v", got, w.Offset())
			}
			if got := w.disputed.Load(); got != c.disputed {
				t.Errorf("disputed: %v", got)
			}
		})
	}
}

func TestJumpShowsAgainstOldAnswers(t *testing.T) {
	w, h, _ := newWatch()
	w.ObservePeer("a", h.wall, 0)
	w.ObservePeer("b", h.wall, 0)
	h.pass(10 * time.Second)
	h.jump(time.Minute)
	if err := w.Check(w.Now()); err == nil {
		t.Fatal("a jump was not noticed")
	}
	if d, ok := w.PeerOffset("a"); !ok || d != -time.Minute {
		t.Fatalf("peer offset %v", d)
	}
	// All agree with the new time: it was right (the machine had been asleep).
	w.ObservePeer("a", h.wall, 0)
	w.ObservePeer("b", h.wall, 0)
	if err := w.Check(w.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestTrust(t *testing.T) {
	w, h, _ := newWatch()
	w.Update()
	if w.Trusted() {
		t.Fatal("trusted before anybody was asked")
	}
	h.pass(settleTime)
	w.Update()
	if !w.Trusted() {
		t.Fatal("not trusted though there is nobody to ask")
	}
	w.ObservePeer("a", h.wall-time.Hour.Milliseconds(), 0)
	if w.Trusted() {
		t.Fatal("trusted though the only peer contradicts")
	}
	h.pass(peerMaxAge + time.Second)
	w.Update()
	if !w.Trusted() {
		t.Fatal("an old answer still counts")
	}
}

func BenchmarkCheck(b *testing.B) {
	w := NewWatch(System(), nil, Limits{WaitThreshold: time.Second, MaxOffset: time.Second})
	for b.Loop() {
		if err := w.Check(w.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		_ = time.Now().UnixMilli()
	}
}
