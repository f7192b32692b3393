package clock

import (
	"errors"
	"strings"
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
	if got, want := w.Majority(), h.wall-time.Hour.Milliseconds(); got != want {
		t.Errorf("Majority() = %d after a jump, want %d", got, want)
	}
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
	if behind.InStep {
		t.Error("a clock that jumped backwards is called correct")
	}
	w.SetLimits(Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond, Swap: true})
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("under swap: %v", err)
	}
}

// After all clocks were ahead and corrected, only the observed clock is wrong.
func TestObservedClockAheadOfCorrectClocks(t *testing.T) {
	w, h, observed := newWatch()
	w.ObservePeer("b", h.wall, 0)
	w.ObservePeer("c", h.wall, 0)
	observed.Store(h.wall + time.Hour.Milliseconds())
	var behind *BehindError
	if err := w.Check(w.Now()); !errors.As(err, &behind) || !behind.InStep || !strings.Contains(err.Error(), "snowraft clock reset") {
		t.Fatalf("behind the observed clock and in step: %v", err)
	}
}

func TestMajorityDecides(t *testing.T) {
	for _, c := range []struct {
		name     string
		peers    []time.Duration // lead of each peer over the own clock
		skew     bool
		off      bool
		disputed bool
	}{
		{"alone", nil, false, false, false},
		{"one that agrees", []time.Duration{100 * time.Millisecond}, false, false, false},
		{"one that does not, and we are new", []time.Duration{-time.Hour}, true, true, true},
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
	// All voters agree with the new time, so it was correct (the machine had been asleep).
	w.ObservePeer("a", h.wall, 0)
	w.ObservePeer("b", h.wall, 0)
	if err := w.Check(w.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestTrust(t *testing.T) {
	w, h, _ := newWatch()
	h.pass(time.Hour)
	w.Update()
	if w.Trusted() {
		t.Fatal("trusted without an answer of a voter")
	}
	w.ObservePeer("a", h.wall, 0)
	if !w.Trusted() {
		t.Fatal("not trusted though the only peer agrees")
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
	alone, _, _ := newWatch()
	alone.SetAlone(true)
	if !alone.Trusted() {
		t.Fatal("not trusted without another voter")
	}
}

func TestSlewsDoNotAddUpAfterAStep(t *testing.T) {
	w, h, _ := newWatch()
	h.jump(300 * time.Millisecond) // more than half of what is allowed
	w.Update()
	for range 3600 * 24 {
		h.pass(time.Second)
		h.wall += h.mono / 1000 % 15 / 14 // 67 ppm
		w.Update()
	}
	if err := w.Check(w.Now()); err != nil {
		t.Fatalf("after a day of slewing: %v", err)
	}
}

func TestAloneAJumpIsBelievedAfterAWhile(t *testing.T) {
	for _, alone := range []bool{true, false} {
		w, h, _ := newWatch()
		w.SetAlone(alone)
		h.pass(time.Hour)
		w.Update()
		h.jump(time.Hour)
		for range 59 {
			w.Update()
			if w.Check(w.Now()) == nil {
				t.Fatal("believed at once")
			}
			h.pass(time.Second)
		}
		h.pass(2 * time.Second)
		w.Update()
		if believed := w.Check(w.Now()) == nil; believed != alone {
			t.Errorf("alone %v: believed %v", alone, believed)
		}
	}
}

func TestSuspensionIsNoJump(t *testing.T) {
	w, h, _ := newWatch()
	var slept int64
	w.suspended, w.asleep = func() int64 { return slept }, 0
	w.ObservePeer("a", h.wall, 0)
	h.pass(10 * time.Second)
	slept = time.Hour.Milliseconds()
	h.jump(time.Hour) // the wall clock continued, the monotonic clock stood still
	w.Update()
	if err := w.Check(w.Now()); err != nil {
		t.Fatal(err)
	}
	if d, _ := w.PeerOffset("a"); d != 0 {
		t.Errorf("the peer's clock is off by %v", d)
	}
	h.jump(time.Hour) // this time it did jump
	w.Update()
	if err := w.Check(w.Now()); err == nil {
		t.Fatal("a jump was taken for a suspension")
	}
}

// The answer of a member that was queried after a suspension already contains the time of the suspension.
func TestSuspensionMovesNoLaterAnswer(t *testing.T) {
	w, h, _ := newWatch()
	var slept int64
	w.suspended, w.asleep = func() int64 { return slept }, 0
	slept = time.Hour.Milliseconds()
	h.jump(time.Hour)
	w.ObservePeer("a", h.wall, 0)
	w.ObservePeer("b", h.wall, 0)
	for _, id := range []string{"a", "b"} {
		if d, ok := w.PeerOffset(id); d != 0 || !ok {
			t.Errorf("PeerOffset(%s) = %v, %v, want 0", id, d, ok)
		}
	}
	if d := w.Offset(); d != 0 {
		t.Errorf("Offset() = %v, want 0", d)
	}
}

// TestTwoThatDisagree is about a cluster of which only two members are left.
func TestTwoThatDisagree(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name     string
		ahead    time.Duration // lead of the own clock over the peer's
		observed time.Duration // relative to the lower of the two clocks; 0: none
		agreed   bool          // whether we agreed before
		jumped   bool          // whether our clock made the difference
		refuses  bool
		unfit    bool
		trusted  bool
	}{
		{"the peer is behind the observed clock", hour, hour, true, false, false, false, true},
		{"we are behind the observed clock", -hour, hour, false, false, true, true, false},
		{"we jumped ahead", hour, 1, true, true, true, true, false},
		{"a newcomer that is ahead gives way", hour, 1, false, false, true, true, false},
		{"a newcomer that is behind cannot decide", -hour, 1, false, false, false, false, false},
		{"an old hand stays", -hour, 1, true, false, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, h, observed := newWatch()
			if c.agreed {
				w.ObservePeer("a", h.wall, 0)
			}
			peer := h.wall
			if c.jumped {
				h.jump(c.ahead)
			} else {
				peer = h.wall - c.ahead.Milliseconds()
			}
			if c.observed != 0 {
				observed.Store(min(h.wall, peer) + c.observed.Milliseconds())
			}
			w.ObservePeer("a", peer, 0)
			if got := w.Check(w.Now()) != nil; got != c.refuses {
				t.Errorf("refuses: %v", got)
			}
			if got := w.Unfit(); got != c.unfit {
				t.Errorf("unfit: %v (offset %v)", got, w.Offset())
			}
			if got := w.Trusted(); got != c.trusted {
				t.Errorf("trusted: %v", got)
			}
		})
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

func TestNonvoterHasNoSay(t *testing.T) {
	w, h, _ := newWatch()
	w.ObserveMember("nonvoter", h.wall-time.Hour.Milliseconds(), 0, false)
	if w.Settled() {
		t.Error("Settled() = true after the answer of a nonvoter")
	}
	w.SetAlone(true)
	if err := w.Check(w.Now()); err != nil || !w.Trusted() {
		t.Errorf("Check() = %v, Trusted() = %t with a nonvoter whose clock is off", err, w.Trusted())
	}
	if d, ok := w.PeerOffset("nonvoter"); !ok || d != -time.Hour {
		t.Errorf("PeerOffset() = %v, %t, want -1 h", d, ok)
	}
}

// A caller that waits for a processor between its reading and the check has a late reading, and no wrong clock.
func TestLateReadingIsNotBehind(t *testing.T) {
	w, h, observed := newWatch()
	late := w.Now()
	h.pass(5 * time.Second)
	observed.Store(h.wall)
	if err := w.Check(late); err != nil {
		t.Errorf("Check() of a late reading = %v", err)
	}
	h.jump(-3 * time.Second)
	late = w.Now()
	h.pass(5 * time.Second)
	observed.Store(h.wall + 3000)
	h.jump(3 * time.Second)
	var behind *BehindError
	if err := w.Check(late); !errors.As(err, &behind) || behind.Behind != 3*time.Second {
		t.Errorf("Check() of a late reading of a clock that was behind = %v", err)
	}
}
