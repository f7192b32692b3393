package clock

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits is how wrong a clock may be.
type Limits struct {
	// WaitThreshold is how far the clock may be behind the observed clock.
	WaitThreshold time.Duration
	// MaxOffset is how far the clock may be ahead of the majority's.
	MaxOffset time.Duration
	// Swap lets a clock that is behind go on (rollback policy "swap").
	Swap bool
}

const (
	// peerMaxAge is how long a peer's answer counts. Members ask one peer a
	// second, so that 30 s are several answers from each of a usual cluster.
	peerMaxAge = 30 * time.Second
	// settleTime is how long to wait for the first peer before going on alone.
	settleTime = 10 * time.Second
)

// Watch compares this process's clock with its peers', with the replicated
// observed clock and with its own past.
//
// Every clock is held as its base, wall - mono in this process's monotonic
// time: a base stays what it is while its clock goes right, so a jump of our
// own clock shows at once, in the next Check, without a new word from any peer.
//
// Check may be called from any goroutine and takes no lock.
type Watch struct {
	read     Source
	observed *atomic.Int64

	// What Check reads.
	reference atomic.Int64 // the base that our clock ought to have
	threshold atomic.Int64 // ms
	maxOffset atomic.Int64 // ms
	swap      atomic.Bool

	disputed atomic.Bool
	settled  atomic.Bool

	mu    sync.Mutex
	peers map[string]peer
	start int64 // Mono when the watch began
}

type peer struct {
	base int64
	mono int64 // when it answered
}

// NewWatch returns a watch over a clock. observed is the replicated observed
// clock in Unix milliseconds; nil where there is no replica.
func NewWatch(read Source, observed *atomic.Int64, limits Limits) *Watch {
	if observed == nil {
		observed = new(atomic.Int64)
	}
	now := read()
	w := &Watch{read: read, observed: observed, peers: make(map[string]peer), start: now.Mono}
	w.reference.Store(now.Wall - now.Mono)
	w.SetLimits(limits)
	return w
}

// SetLimits changes the limits.
func (w *Watch) SetLimits(l Limits) {
	w.threshold.Store(l.WaitThreshold.Milliseconds())
	w.maxOffset.Store(l.MaxOffset.Milliseconds())
	w.swap.Store(l.Swap)
}

// Limits returns the limits in force.
func (w *Watch) Limits() Limits {
	return Limits{
		WaitThreshold: time.Duration(w.threshold.Load()) * time.Millisecond,
		MaxOffset:     time.Duration(w.maxOffset.Load()) * time.Millisecond,
		Swap:          w.swap.Load(),
	}
}

// Now reads the clock.
func (w *Watch) Now() Reading { return w.read() }

// Check says whether an ID may be issued at this reading: nil, a [*SkewError]
// or a [*BehindError].
func (w *Watch) Check(r Reading) error {
	if r.Wall-r.Mono-w.reference.Load() > w.maxOffset.Load() ||
		w.observed.Load()-r.Wall > w.threshold.Load() {
		return w.refusal(r)
	}
	return nil
}

// refusal is the slow half of Check.
func (w *Watch) refusal(r Reading) error {
	l := w.Limits()
	if ahead := time.Duration(r.Wall-r.Mono-w.reference.Load()) * time.Millisecond; ahead > l.MaxOffset {
		return &SkewError{Ahead: ahead, Limit: l.MaxOffset}
	}
	if behind := w.Behind(r); behind > l.WaitThreshold && !l.Swap {
		return &BehindError{Behind: behind, Limit: l.WaitThreshold}
	}
	return nil
}

// Behind is how far a reading is behind the observed clock; negative when it is ahead of it.
func (w *Watch) Behind(r Reading) time.Duration {
	return time.Duration(w.observed.Load()-r.Wall) * time.Millisecond
}

// Offset is how far this clock is from the majority's; positive is ahead.
func (w *Watch) Offset() time.Duration {
	r := w.read()
	return time.Duration(r.Wall-r.Mono-w.reference.Load()) * time.Millisecond
}

// Off reports whether this clock is further from the majority's than allowed, either way.
func (w *Watch) Off() bool {
	return w.Offset().Abs() > time.Duration(w.maxOffset.Load())*time.Millisecond
}

// Trusted reports whether this clock may be shown to others as the time: it is
// not off, peers were asked (or there was nobody to ask for a while), and they
// do not contradict it.
func (w *Watch) Trusted() bool {
	return w.settled.Load() && !w.disputed.Load() && !w.Off()
}

// ObservePeer takes a peer's answer: its wall clock in Unix milliseconds, read
// rtt/2 ago.
func (w *Watch) ObservePeer(id string, wall int64, rtt time.Duration) {
	r := w.read()
	w.mu.Lock()
	w.peers[id] = peer{base: wall + rtt.Milliseconds()/2 - r.Mono, mono: r.Mono}
	w.mu.Unlock()
	w.Update()
}

// ForgetPeer drops what is known of a peer that went away.
func (w *Watch) ForgetPeer(id string) {
	w.mu.Lock()
	delete(w.peers, id)
	w.mu.Unlock()
	w.Update()
}

// PeerOffset is how far a peer's clock is from ours; positive is ahead.
func (w *Watch) PeerOffset(id string) (time.Duration, bool) {
	r := w.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.peers[id]
	return time.Duration(p.base-(r.Wall-r.Mono)) * time.Millisecond, ok
}

// Update decides anew what our clock ought to read. Call it about once a
// second; with no peer to ask it follows slow corrections of the own clock
// (NTP slews), but not a jump.
func (w *Watch) Update() {
	r := w.read()
	own := r.Wall - r.Mono
	limit := w.maxOffset.Load()

	w.mu.Lock()
	defer w.mu.Unlock()
	bases := []int64{own}
	for id, p := range w.peers {
		if r.Mono-p.mono > peerMaxAge.Milliseconds() {
			delete(w.peers, id)
			continue
		}
		bases = append(bases, p.base)
	}
	slices.Sort(bases)

	before := w.reference.Load()
	disputed := false
	switch n := len(bases); {
	case n == 1:
		if distance(own, before) <= limit/2 {
			w.reference.Store(own)
		}
	case n == 2:
		// One word against another: who jumped knows it from its own past.
		if bases[1]-bases[0] <= limit {
			w.reference.Store(own)
		} else {
			disputed = true
		}
	case n%2 == 1:
		w.reference.Store(bases[n/2])
	default:
		low, high := bases[n/2-1], bases[n/2]
		if distance(low, before) <= distance(high, before) {
			w.reference.Store(low)
		} else {
			w.reference.Store(high)
		}
	}
	w.disputed.Store(disputed)
	if len(bases) > 1 || r.Mono-w.start >= settleTime.Milliseconds() {
		w.settled.Store(true)
	}
}

// Settle says that there is nobody to ask: this member is alone in its cluster.
func (w *Watch) Settle() { w.settled.Store(true) }

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}
