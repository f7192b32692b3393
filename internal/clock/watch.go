package clock

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits holds the greatest errors of a clock that are tolerated.
type Limits struct {
	// WaitThreshold is the greatest time by which the clock may be behind the observed clock.
	WaitThreshold time.Duration
	// MaxOffset is the greatest time by which the clock may be ahead of the majority's.
	MaxOffset time.Duration
	// Swap permits issuing while the clock is behind (rollback policy "swap").
	Swap bool
}

// suspendNoise is the greatest difference between two readings of the machine's clocks, in ms, that is not a suspension.
const suspendNoise = 10

// settleTime is the time for which a clock without peers must run without another
// jump before it is trusted again.
const settleTime = time.Minute

// peerMaxAge is the time for which a peer's answer counts. A member queries one peer
// per second, so 30 s bring several answers from each peer in a usual cluster.
const peerMaxAge = 30 * time.Second

// Watch compares this process's clock with its peers', with the replicated
// observed clock and with its own past.
//
// Every clock is held as its base, wall - mono in this process's monotonic
// time. A base stays the same while its clock runs correctly. So the next Check
// detects a jump of the own clock, without a new answer from any peer.
//
// All methods may be called from any goroutine. Check takes no lock.
type Watch struct {
	read      Source
	observed  *atomic.Int64
	suspended func() int64 // time for which the machine was suspended since its boot; ms

	// Check reads these.
	reference atomic.Int64 // the base that the own clock should have
	threshold atomic.Int64 // ms
	maxOffset atomic.Int64 // ms
	swap      atomic.Bool
	// mostAhead is maxOffset, or less than any difference while the watch is stopped: Check compares once for both.
	mostAhead atomic.Int64
	stopped   atomic.Pointer[error] // nil: not stopped

	disputed atomic.Bool
	settled  atomic.Bool

	mu     sync.Mutex
	peers  map[string]peer
	own    int64 // own base at the last Update
	agreed bool  // the own clock agreed with a peer's once
	alone  bool  // there is no other voter, see SetAlone
	jumped int64 // Mono at the last jump that was seen without a peer
	asleep int64 // time for which the machine was suspended until the last Update; ms
}

type peer struct {
	base  int64
	mono  int64 // monotonic time of the answer
	voter bool  // the clock counts; a nonvoter's clock is only shown
}

// NewWatch returns a watch over a clock, whose present base is the first reference. observed is the replicated observed
// clock in Unix milliseconds, which the caller updates; nil where there is no replica.
func NewWatch(read Source, observed *atomic.Int64, limits Limits) *Watch {
	if observed == nil {
		observed = new(atomic.Int64)
	}
	now := read()
	w := &Watch{read: read, observed: observed, peers: make(map[string]peer), own: now.Wall - now.Mono, suspended: suspended, asleep: suspended()}
	w.reference.Store(now.Wall - now.Mono)
	w.SetLimits(limits)
	return w
}

// SetLimits changes the limits, which the next Check uses. They count in whole milliseconds.
func (w *Watch) SetLimits(l Limits) {
	w.threshold.Store(l.WaitThreshold.Milliseconds())
	w.maxOffset.Store(l.MaxOffset.Milliseconds())
	w.limitAhead()
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

// Check returns nil if an ID may be issued at this reading, otherwise a [*SkewError], a [*BehindError] or the reason of Stop.
// With Limits.Swap, a clock that is behind is not an error.
func (w *Watch) Check(r Reading) error {
	if r.Wall-r.Mono-w.reference.Load() > w.mostAhead.Load() ||
		w.observed.Load()-r.Wall > w.threshold.Load() {
		return w.refusal(r)
	}
	return nil
}

// refusal is the slow half of Check.
func (w *Watch) refusal(r Reading) error {
	if err := w.Stopped(); err != nil {
		return err
	}
	l := w.Limits()
	if ahead := time.Duration(r.Wall-r.Mono-w.reference.Load()) * time.Millisecond; ahead > l.MaxOffset {
		return &SkewError{Ahead: ahead, Limit: l.MaxOffset}
	}
	observed := w.observed.Load()
	if behind := Between(w.Advance(r).Wall, observed); behind > l.WaitThreshold && !l.Swap {
		return &BehindError{Behind: behind, Limit: l.WaitThreshold, InStep: w.Trusted()}
	}
	return nil
}

// Advance adds the monotonic time since a reading to it. Call it before a reading is found to be behind something that was read
// later: a caller that has waited for a processor in between is late, and its clock is not wrong.
func (w *Watch) Advance(r Reading) Reading {
	passed := w.read().Mono - r.Mono
	return Reading{Wall: r.Wall + passed, Mono: r.Mono + passed}
}

// Observed returns the observed clock, in Unix ms.
func (w *Watch) Observed() int64 { return w.observed.Load() }

// Behind returns the time by which a reading is behind the observed clock; negative if the reading is ahead.
func (w *Watch) Behind(r Reading) time.Duration {
	return time.Duration(w.observed.Load()-r.Wall) * time.Millisecond
}

// Offset returns the difference between this clock and the majority's; positive if this clock is ahead.
func (w *Watch) Offset() time.Duration {
	r := w.read()
	return time.Duration(r.Wall-r.Mono-w.reference.Load()) * time.Millisecond
}

// Majority returns the time of the majority's clocks, in Unix ms. Until this process has compared clocks, it is the time of
// the own clock.
func (w *Watch) Majority() int64 {
	return w.read().Mono + w.reference.Load()
}

// Off reports whether this clock is further from the majority's than the limit, ahead or behind.
func (w *Watch) Off() bool {
	return w.Offset().Abs() > time.Duration(w.maxOffset.Load())*time.Millisecond
}

// Unfit reports whether this process should not lead: its clock is off, or
// its clock is behind the observed clock while some voter's is not.
func (w *Watch) Unfit() bool {
	if w.Off() {
		return true
	}
	r := w.read()
	oldest := w.observed.Load() - w.threshold.Load()
	if r.Wall >= oldest {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.peers {
		if p.voter && p.base+r.Mono >= oldest {
			return true
		}
	}
	return false
}

// Trusted reports whether this clock may become the observed clock. The clock must not be off, it must be settled (see
// [Watch.Settled]), and the only other voter, if there is just one, must not contradict it.
func (w *Watch) Trusted() bool {
	return w.settled.Load() && !w.disputed.Load() && !w.Off()
}

// Settled reports whether a voter answered since the start, or this member was the only voter at some time since.
func (w *Watch) Settled() bool { return w.settled.Load() }

// ObservePeer calls [Watch.ObserveMember] for a voter.
func (w *Watch) ObservePeer(id string, wall int64, rtt time.Duration) {
	w.ObserveMember(id, wall, rtt, true)
}

// ObserveMember notes a peer's answer: the peer's wall clock in Unix milliseconds, which the peer read half of the
// round-trip time rtt ago. The clock of a nonvoter does not count. An answer counts for 30 s.
func (w *Watch) ObserveMember(id string, wall int64, rtt time.Duration, voter bool) {
	r := w.read()
	w.mu.Lock()
	w.wake() // before the peer is stored: the answer contains the time of a suspension
	w.peers[id] = peer{base: wall + rtt.Milliseconds()/2 - r.Mono, mono: r.Mono, voter: voter}
	w.mu.Unlock()
	w.Update()
}

// ForgetPeer drops the last answer of a peer that went away.
func (w *Watch) ForgetPeer(id string) {
	w.mu.Lock()
	delete(w.peers, id)
	w.mu.Unlock()
	w.Update()
}

// PeerOffset returns the difference between a peer's clock and this one; positive if the peer is ahead. It returns false
// without a recent answer of the peer.
func (w *Watch) PeerOffset(id string) (time.Duration, bool) {
	r := w.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.peers[id]
	return time.Duration(p.base-(r.Wall-r.Mono)) * time.Millisecond, ok
}

// Update recomputes the base that the own clock should have. The caller repeats it about once per second. Without a
// peer's answer, Update follows slow corrections of the own clock (NTP slews) and suspensions of the machine, but no
// jump; see [Watch.SetAlone]. With answers of at least two voters, the base is the median of all voters' bases including
// the own one. So a minority of incorrect clocks cannot move it beyond the bases of the others.
func (w *Watch) Update() {
	r := w.read()
	own := r.Wall - r.Mono
	limit := w.maxOffset.Load()

	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake()
	bases := []int64{own}
	for id, p := range w.peers {
		if r.Mono-p.mono > peerMaxAge.Milliseconds() {
			delete(w.peers, id)
			continue
		}
		if p.voter {
			bases = append(bases, p.base)
		}
	}
	slices.Sort(bases)

	moved := own - w.own // movement since the last Update; only slow corrections unless the clock jumped
	w.own = own
	before := w.reference.Load()
	disputed := false
	switch n := len(bases); {
	case n == 1:
		if distance(moved, 0) <= limit/2 {
			w.reference.Store(before + moved)
		} else {
			w.jumped = r.Mono
		}
		if w.alone && r.Mono-w.jumped >= settleTime.Milliseconds() {
			w.reference.Store(own) // no peer will ever contradict
		}
	case n == 2:
		disputed = w.settle(own, bases[0]+bases[1]-own, r.Mono)
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
	if len(bases) > 1 {
		w.settled.Store(true)
		w.agreed = w.agreed || (!disputed && distance(own, w.reference.Load()) <= limit)
	}
	w.disputed.Store(disputed)
}

// wake notes a suspension of the machine: the monotonic clock stood still, and every other clock continued. Requires w.mu.
func (w *Watch) wake() {
	slept := w.suspended() - w.asleep
	if slept <= suspendNoise {
		return
	}
	w.asleep += slept
	w.own += slept
	w.reference.Add(slept)
	for id, p := range w.peers {
		p.base += slept
		w.peers[id] = p
	}
}

// settle decides between the own clock and the clock of the only other voter, by
// their bases. disputed reports that nothing shows which of the two is incorrect.
// A clock that is behind the observed clock by more than the wait threshold is
// incorrect. Otherwise a member recognizes its own jump from its past. In a dispute,
// a member that never agreed with another still yields if its clock is ahead,
// because its clock could poison the observed clock.
func (w *Watch) settle(own, other, mono int64) (disputed bool) {
	limit := w.maxOffset.Load()
	if distance(own, other) <= limit {
		w.reference.Store(own)
		return false
	}
	oldest := w.observed.Load() - w.threshold.Load() // no correct clock reads less
	switch ownBehind, otherBehind := own+mono < oldest, other+mono < oldest; {
	case ownBehind && !otherBehind:
		w.reference.Store(other)
		return false
	case !ownBehind && !otherBehind && !w.agreed && own > other:
		w.reference.Store(other)
		return true
	case otherBehind && !ownBehind && distance(own, w.reference.Load()) <= limit:
		w.reference.Store(own)
		return false
	}
	return true
}

// SetAlone sets whether this member is the only voter of its cluster. A lone member
// trusts its clock again after a minute without another jump.
func (w *Watch) SetAlone(alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alone = alone
	if alone {
		w.settled.Store(true)
	}
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}
