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
	Name    string       // of the sequence
	Granter BlockGranter // source of blocks
	Key     ReturnKey    // of the process
	Clock   clock.Source // shows whether a block's period has ended, and paces requests for blocks
	// Revision grows when anything changed that may make a cached block outdated;
	// nil: never. It is read by every call.
	Revision *atomic.Uint64
	// Current returns the generation and period that are known here now; ok is false
	// when the sequence does not exist (anymore). It is called when Revision has
	// changed, under the Sequence's lock: it must not call the Sequence. Nil: what
	// blocks tell is all that is known.
	Current func() (generation uint64, period int32, ok bool)
	// FirstBlock is the size of the first request, before a block has shown how many
	// numbers are allowed; 0 means 100.
	FirstBlock uint64
	Wait       Wait         // observes callers that wait for a block; nil: none does
	Events     Events       // records what people look back on; nil discards
	Logger     *slog.Logger // nil discards
}

// Sequence issues the numbers of one relaxed sequence from granted blocks: the
// current one, and the next, which it requests in the background before the current
// one is used up. Its methods may be called from any goroutine.
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
// A call that fails may have been granted a block anyway. It is lost, never
// assumed not to have been granted.
type Sequence struct {
	current  atomic.Pointer[stock] // nil: none
	revision *atomic.Uint64
	seen     atomic.Uint64 // the revision that the blocks were last compared at
	// Until then (Mono) a block serves though its period has ended by this process's
	// clock, because the cluster's says otherwise.
	lenient atomic.Int64

	cfg SequenceConfig

	mu      sync.Mutex
	next    *stock // follows current; seen by the lock's holder only, so its position is 0
	waiting []*waiter
	ledger  ledger
	pacer   pacer
	fetch   *fetch        // in progress; nil if there is none
	closed  chan struct{} // closed when Close is through; nil before Close
	err     error         // what Close returns
}

// OpenSequence returns a Sequence without blocks; the first call requests one.
// Nothing runs until then. Close it when done.
func OpenSequence(cfg SequenceConfig) *Sequence {
	cfg.Revision, cfg.Logger = cmp.Or(cfg.Revision, &never), cmp.Or(cfg.Logger, discard)
	if cfg.Events == nil {
		cfg.Events = events.Discard
	}
	first := min(cmp.Or(cfg.FirstBlock, defaultFirstBlock), maxStock)
	return &Sequence{cfg: cfg, revision: cfg.Revision, pacer: pacer{first: first}}
}

var (
	never   atomic.Uint64 // the revision of those who have none
	discard = slog.New(slog.DiscardHandler)
)

// Next issues the next count numbers, in one run.
//
// It waits, as long as ctx allows, only when no block has them: at first, when a
// period ends, and when the cluster does not grant blocks as fast as they are used.
// Its errors are [ErrInvalidArgument] for a count of 0, [ErrClosed],
// [ErrOutdatedBlock], those of the [BlockGranter], wrapped or not, and that of ctx.
// An error of the Granter reaches only callers that no block can serve.
func (s *Sequence) Next(ctx context.Context, count uint64) (Numbers, error) {
	if n, ok := s.TryNext(count); ok {
		return n, nil
	}
	return s.await(ctx, count)
}

// TryNext is Next if a block in memory has the numbers: it waits for nothing but, at
// times, a short-held lock. It issues none if not ok, for whatever reason.
func (s *Sequence) TryNext(count uint64) (n Numbers, ok bool) {
	// No lock and no allocation here: a revision that is the one the blocks were
	// compared at, and one compare-and-swap.
	if b := s.current.Load(); b != nil && s.revision.Load() == s.seen.Load() && (b.PeriodEnd == 0 || !s.over(b, s.cfg.Clock())) {
		if index, ok := b.take(count); ok {
			if index+count >= b.mark.Load() {
				s.look()
			}
			return b.numbers(index, count), true
		}
	}
	return Numbers{}, false
}

// over reports whether a block's period has ended.
func (s *Sequence) over(b *stock, now clock.Reading) bool {
	return b.PeriodEnd != 0 && now.Wall >= b.PeriodEnd && now.Mono >= s.lenient.Load()
}

// Last returns the last number that this Sequence issued in the generation and
// period that are current here; ok is false if there is none.
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

// DropBefore forgets the blocks that were granted before a token, also such as are on their way:
// the numbers of that grant were issued by other means, and theirs must not come after them.
func (s *Sequence) DropBefore(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.floor = max(s.ledger.floor, token)
	s.pacer.overtaken(s.cfg.Clock().Mono)
	s.weed()
}

// SequenceStats counts what a [Sequence] did since it was opened.
type SequenceStats struct {
	Taken     uint64 // numbers that callers got
	Waited    uint64 // calls that had to wait for a block
	Skipped   uint64 // numbers of blocks that neither a caller nor the cluster got
	Blocks    uint64 // blocks that were granted
	BlockSize uint64 // numbers in the current block, used ones included; 0: there is none
}

// Stats returns what the Sequence did so far.
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

// errNoCount is the refusal of a request for nothing.
var errNoCount = fmt.Errorf("%w: count 0: expected at least 1 number", ErrInvalidArgument)
