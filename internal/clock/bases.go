package clock

import "time"

// Bases holds the clocks that a [Watch] compares. A base is wall - mono in this process's monotonic time, in
// milliseconds.
type Bases struct {
	Own       int64 // base of the own clock
	Reference int64 // the base that the own clock should have
	Observed  int64 // the replicated observed clock, Unix ms
	Now       Reading
	Peers     map[string]PeerBase // keyed by ID
	Settled   bool                // a voter answered since the start, or there is no other voter
	Disputed  bool                // the only other voter contradicts the own clock
	Alone     bool                // there is no other voter
	Suspended time.Duration       // time for which the machine was suspended since its boot
}

// PeerBase is the last answer of a peer.
type PeerBase struct {
	Base  int64         // base of the peer's clock, as in [Bases]
	Age   time.Duration // time since the answer
	Voter bool          // the peer's clock counts
}

// Bases returns the clocks as the watch compares them now. The caller owns the result.
func (w *Watch) Bases() Bases {
	r := w.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	b := Bases{
		Own: r.Wall - r.Mono, Reference: w.reference.Load(), Observed: w.observed.Load(), Now: r, Peers: make(map[string]PeerBase, len(w.peers)),
		Settled: w.settled.Load(), Disputed: w.disputed.Load(), Alone: w.alone, Suspended: time.Duration(w.asleep) * time.Millisecond,
	}
	for id, p := range w.peers {
		b.Peers[id] = PeerBase{Base: p.base, Age: time.Duration(r.Mono-p.mono) * time.Millisecond, Voter: p.voter}
	}
	return b
}
