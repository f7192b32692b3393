package allocator

import (
	"github.com/snowraft/snowraft/internal/clock"
)

// ledger holds the state of a Sequence and counts its work. Guarded
// by the Sequence's lock.
type ledger struct {
	stats SequenceStats // Taken without the current block's

	known epoch // latest epoch known here
	gone  bool  // the sequence does not exist, as far as is known here

	token  uint64 // greatest token of a granted block
	floor  uint64 // blocks with a lower token are not used
	end    int64  // last number of the last accepted block
	step   int64  // increment of that block; 0 if any block may follow
	endsIn epoch  // epoch of that block

	last   int64 // last number that was issued before the current block
	lastOf epoch // epoch of last
	any    bool  // last is set
}

// follows reports whether a block can follow the last one. Accepting a wrong block
// could repeat numbers; ignoring a right block only skips its numbers.
func (l *ledger) follows(b *stock) bool {
	if b.Token <= l.token {
		return false
	}
	if l.step == 0 || b.epoch() != l.endsIn {
		return true
	}
	return b.Increment == l.step && b.First != l.end && (b.First > l.end) == (l.step > 0)
}

// outdated reports whether a block must not be used.
func (l *ledger) outdated(b *stock) bool {
	return l.gone || b.epoch().before(l.known) || l.overtaken(b)
}

// overtaken reports whether later numbers than those of the block were issued by other means.
func (l *ledger) overtaken(b *stock) bool { return b.Token < l.floor }

// accepted records a block that will be used.
func (l *ledger) accepted(b *stock) {
	if l.known.before(b.epoch()) {
		l.known = b.epoch()
	}
	l.end, l.step, l.endsIn = b.Number(b.Count-1), b.Increment, b.epoch()
}

// rewind lets the next block begin right after the last number that was issued, because the rest may be granted
// again.
func (l *ledger) rewind() {
	if l.any && l.lastOf == l.endsIn {
		l.end = l.last
	} else {
		l.step = 0
	}
}

// refresh compares the blocks with the generation and period known here, if the revision has changed. Requires
// s.mu.
func (s *Sequence) refresh() {
	revision := s.revision.Load() // read before Current, so that no change is missed
	if revision == s.seen.Load() {
		return
	}
	if s.cfg.Current != nil {
		l := &s.ledger
		generation, period, ok := s.cfg.Current()
		switch latest := (epoch{generation, period}); {
		case !ok:
			l.gone, l.known = true, epoch{} // a new sequence starts over
		case l.gone || l.known.before(latest):
			l.gone, l.known = false, latest
		}
		s.dropOutdated()
	}
	s.seen.Store(revision)
}

// dropOutdated drops the blocks that must no longer be used. Requires s.mu.
func (s *Sequence) dropOutdated() { s.skip(s.ledger.outdated) }

// skip drops the current and the next block if which returns true for them. Requires s.mu.
func (s *Sequence) skip(which func(*stock) bool) {
	if b := s.current.Load(); b != nil && which(b) {
		s.ledger.stats.Skipped += b.Count - s.retire(b)
		s.current.Store(nil)
	}
	if s.next != nil && which(s.next) {
		s.ledger.stats.Skipped += s.next.Count
		s.next = nil
	}
}

// retire closes the current block, records the numbers that it issued and returns their count. Requires s.mu.
func (s *Sequence) retire(b *stock) (taken uint64) {
	if taken = b.close(); taken > 0 {
		l := &s.ledger
		l.last, l.lastOf, l.any = b.Number(taken-1), b.epoch(), true
		l.stats.Taken += taken
	}
	return taken
}

// serve issues count numbers from the blocks in memory. It moves on to the next block if that block can serve.
// It then skips the rest of the current block only if the two blocks are not contiguous; never for a single
// number, for which any rest is enough. Requires s.mu.
func (s *Sequence) serve(count uint64, now clock.Reading) (n Numbers, ok bool) {
	for {
		b := s.current.Load()
		if b != nil && !s.over(b, now) {
			if index, ok := b.take(count); ok {
				return b.numbers(index, count), true
			}
		}
		next := s.next
		switch {
		case next == nil || s.over(next, now):
			return Numbers{}, false
		case b == nil:
		case next.continues(b):
			next = b.joined(s.retire(b), next)
		case next.Count >= count || b.taken() == b.Count:
			s.ledger.stats.Skipped += b.Count - s.retire(b)
		default:
			return Numbers{}, false // both may still serve smaller requests
		}
		s.next = nil
		s.current.Store(next)
	}
}
