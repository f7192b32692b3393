package allocator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
)

// SequenceConfig holds the settings of a [Sequence]. Name, Granter and Clock are required.
type SequenceConfig struct {
	Name    string       // name of the sequence
	Granter BlockGranter // source of blocks
	Key     ReturnKey    // return key of the process
	Clock   clock.Source // shows whether a block's period has ended, and paces requests for blocks
	// Revision increases when a change may make a cached block outdated; nil means never. Every call reads it.
	Revision *atomic.Uint64
	// Current returns the generation and period that this process knows now; ok is false if the sequence does
	// not exist. It is called when Revision has changed, under the Sequence's lock, so it must not
	// call the Sequence. Without it, only blocks show the generation and period.
	Current func() (generation uint64, period int32, ok bool)
	// FirstBlock is the size of the first request, before a block has shown how many
	// numbers are allowed; 0 means 100.
	FirstBlock uint64
	Wait       Wait         // observes callers that wait for a block; nil for none
	Events     Events       // records notable events for operators; nil discards them
	Logger     *slog.Logger // nil discards all messages
}

// Sequence issues the numbers of one sequence from granted blocks: the current one, and
// the next, which it requests in the background before the current one is used up. Every
// member has one for each relaxed sequence that it issues from; for a strict sequence,
// only the leader has one. Its methods may be called from any goroutine.
//
// Invariants:
//
//   - each number of each block that this process was granted is issued at most
//     once, and never after a later one of its generation and period;
//   - a number is issued by the one compare-and-swap that moved a block's position
//     past it, or by the lock's holder from a block that no other goroutine sees;
//   - a block is closed strictly before the one that follows it becomes visible;
//   - no number of a block is chosen by a call that began after this process knew of
//     a later generation or period;
//   - blocks are requested one after another, by a goroutine that exists only
//     while there is something to request.
//
// A failed call to the BlockGranter may have been granted a block anyway. Such a block is lost, and never
// assumed not to have been granted.
type Sequence struct {
	current  atomic.Pointer[stock] // nil: none
	revision *atomic.Uint64
	seen     atomic.Uint64 // revision at which the blocks were last checked
	// lenient is the time (Mono) until which a block serves although its period has ended by this process's
	// clock, because it has not ended by the cluster's.
	lenient atomic.Int64

	cfg SequenceConfig

	mu      sync.Mutex
	next    *stock // block after current; seen by the lock's holder only, so its position is 0
	waiting []*waiter
	ledger  ledger
	pacer   pacer
	fetch   *fetch        // request in progress; nil if there is none
	closed  chan struct{} // closed when Close has finished; nil before Close
	err     error         // error that Close returns
}

// OpenSequence returns a Sequence without blocks; the first call requests one. No goroutine runs until then.
// The caller must close the Sequence.
func OpenSequence(cfg SequenceConfig) *Sequence {
	cfg.Revision, cfg.Logger = cmp.Or(cfg.Revision, &never), cmp.Or(cfg.Logger, discard)
	if cfg.Events == nil {
		cfg.Events = events.Discard
	}
	first := min(cmp.Or(cfg.FirstBlock, defaultFirstBlock), maxStock)
	return &Sequence{cfg: cfg, revision: cfg.Revision, pacer: pacer{first: first}}
}

var (
	never   atomic.Uint64 // revision of a Sequence without one
	discard = slog.New(slog.DiscardHandler)
)

// Next issues the next count numbers, in one run.
//
// It waits, as long as ctx allows, only when no block has them: at first, when a period ends, and when the
// cluster grants blocks more slowly than callers use them. Its errors are [ErrInvalidArgument] for a count of
// 0, [ErrClosed], [ErrOutdatedBlock], those of the [BlockGranter], wrapped or not, and, when ctx ends,
// [*InterruptedError]. An error of the BlockGranter reaches only callers that no block can serve.
func (s *Sequence) Next(ctx context.Context, count uint64) (Numbers, error) {
	if n, ok := s.TryNext(count); ok {
		return n, nil
	}
	return s.await(ctx, count)
}

// TryNext issues numbers as Next does if the current block has them. It takes no lock and does not wait. If ok is
// false, it issued none; Next returns the numbers or the error.
func (s *Sequence) TryNext(count uint64) (n Numbers, ok bool) {
	// The fast path takes no lock and allocates nothing: it compares the revision with that of the blocks, and
	// does one compare-and-swap.
	if b := s.current.Load(); b != nil && s.revision.Load() == s.seen.Load() && (b.PeriodEnd == 0 || !s.over(b, s.cfg.Clock())) {
		if index, ok := b.take(count); ok {
			if index+count >= b.mark.Load() {
				s.checkPace()
			}
			return b.numbers(index, count), true
		}
	}
	return Numbers{}, false
}

// over reports whether a block's period has ended, by this process's clock and not before lenient.
func (s *Sequence) over(b *stock, now clock.Reading) bool {
	return b.PeriodEnd != 0 && now.Wall >= b.PeriodEnd && now.Mono >= s.lenient.Load()
}

// Last returns the last number that this Sequence issued in the generation and period known here; ok is false
// if there is none.
func (s *Sequence) Last() (number int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	if b := s.current.Load(); b != nil {
		if taken := b.taken(); taken > 0 {
			return b.Number(taken - 1), true
		}
	}
	l := &s.ledger
	return l.last, l.any && !l.gone && l.lastOf == l.known
}

// Left returns how many numbers of its blocks this Sequence can still issue, and the first of them.
func (s *Sequence) Left() (count uint64, first int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	now := s.cfg.Clock()
	if b := s.next; b != nil && !s.over(b, now) {
		count, first = b.Count, b.First
	}
	if b := s.current.Load(); b != nil && !s.over(b, now) {
		if taken := b.taken(); taken < b.Count {
			count, first = count+b.Count-taken, b.Number(taken)
		}
	}
	return count, first
}

// DropBefore drops the blocks that were granted before a token, including those that are still on their way. The
// numbers of the token's grant were issued by other means, and numbers of earlier blocks must not come after
// them.
func (s *Sequence) DropBefore(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.floor = max(s.ledger.floor, token)
	s.pacer.overtaken(s.cfg.Clock().Mono)
	s.dropOutdated()
}

// SequenceStats counts what a [Sequence] did since it was opened.
type SequenceStats struct {
	Taken     uint64 // numbers issued to callers
	Waited    uint64 // calls that had to wait for a block
	Skipped   uint64 // numbers of blocks that were neither issued nor returned
	Blocks    uint64 // blocks that were granted
	BlockSize uint64 // numbers in the current block, used ones included; 0 if there is none
}

// Stats returns the counts since the Sequence was opened.
func (s *Sequence) Stats() SequenceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.ledger.stats
	if b := s.current.Load(); b != nil {
		stats.Taken += b.taken()
		stats.BlockSize = b.Count
	}
	return stats
}

// errNoCount is the error of a request for no numbers.
var errNoCount = fmt.Errorf("%w: count 0: expected at least 1 number", ErrInvalidArgument)
