package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/receipt"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/snowflake"
)

// Config holds the settings of a member.
type Config struct {
	// Cluster describes the node. FSM, Commands, Watch, Lead and Removed are
	// filled in by Open.
	Cluster cluster.Config
	// Clock is the machine's clock; nil: the system's.
	Clock clock.Source
	// Initial is the configuration that this member sets in a new cluster that it starts.
	Initial *commandv1.Config
	// Default is the layout that a new cluster starts with; nil: the preset "default".
	Default *snowflake.Spec
	// Lanes is the number of lanes that each layout gets, at most limits.Lanes; 0 means 1.
	Lanes int
	// Supported is the newest fsm_version that this member applies; 0: fsm.Version.
	Supported uint32
	// FinalizeAfter is the time for which all members must have known newer commands before this member, as the leader,
	// finalizes an upgrade automatically; 0: an hour.
	FinalizeAfter time.Duration
	// Leader returns the connection to another member, the leader, for workers, blocks and lookups.
	Leader func(cluster.Member) (Leader, error)
	// Tracer makes spans of the work of this member as the leader and of its requests to the leader; nil: none.
	Tracer *tracing.Tracer
	Logger *slog.Logger
}

// Leader is the part of the leader that a member calls.
type Leader interface {
	allocator.Granter
	allocator.BlockGranter
	Finder
	// Claim judges a position that a witness knows to be committed.
	Claim(ctx context.Context, p position.Position, witness string) error
}

// Member is a running member. Its methods may be called from any goroutine.
//
// Methods that only the leader can carry out fail with [cluster.ErrNotLeader] on other members, and then have done
// nothing. If leadership is lost while a command is replicated, the error is [cluster.ErrUnknownOutcome]. Refusals of
// the state machine are of type [*fsm.Refused]. Methods that propose a command also fail with a [*clock.SkewError]
// while the leader's clock is ahead, with a [*VersionError], and with [allocator.ErrOldClusterAlive]
// or [allocator.ErrSetBack]. A witness calls no leader, see [Member.NoLeader].
type Member struct {
	cfg    Config
	logger *slog.Logger
	fsm    *fsm.Machine
	node   *cluster.Node
	clock  *clock.Watch
	events *events.Ring
	nonce  allocator.Nonce
	key    allocator.ReturnKey // return key of this member's blocks
	halt   haltLatch
	opened chan struct{} // closed once node is set

	mu     sync.Mutex
	byName atomic.Pointer[map[string]*allocator.Issuer] // the map is never changed, only replaced, under mu
	closed bool

	asking     chan struct{} // one element per lookup at the leader; capacity maxAsking
	counters   counters
	claims     receipt.Relay[position.Position]
	judging    chan struct{}              // one element while this leader judges a claim
	leaderTerm atomic.Pointer[leaderTerm] // nil while this member does not lead

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Open starts a member, which the caller must close. It returns before the member has joined a cluster or found a
// leader. The errors are those of cluster.Open, or the reason for which the state machine rejects the data directory.
func Open(cfg Config) (*Member, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Supported == 0 {
		cfg.Supported = fsm.Version
	}
	cfg.FinalizeAfter = cmp.Or(cfg.FinalizeAfter, stableFor)
	m := &Member{cfg: cfg, logger: cfg.Logger, opened: make(chan struct{}), asking: make(chan struct{}, maxAsking), judging: make(chan struct{}, 1)}
	m.byName.Store(&map[string]*allocator.Issuer{})
	m.counters.byName = make(map[string]*counter)
	for _, secret := range [][]byte{m.nonce[:], m.key[:]} {
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
	}
	m.fsm = fsm.New(fsm.Options{Supported: cfg.Supported, Halt: m.halt.set})
	m.clock = clock.NewWatch(cfg.Clock, m.fsm.Observed(), clockLimits(m.fsm.ConfigValue()))

	m.events = events.New(m.clock)

	cc := cfg.Cluster
	cc.Events = m.events
	cc.FSM, cc.Admit, cc.Commands, cc.Watch, cc.Logger = m.replica(), m.fsm.Admit, cfg.Supported, m.clock, cfg.Logger
	cc.Used, cc.Lives, cc.History = m.fsmVersion, m.lives, history{m}
	cc.First, cc.Lead, cc.Removed = m.first, m.lead, removedMembers{m}
	node, err := cluster.Open(cc)
	if err != nil {
		if halted := m.halt.reason(); halted != nil {
			return nil, halted // raft's error says only that the snapshot was not restored
		}
		return nil, err
	}
	m.node = node
	m.claims = receipt.Relay[position.Position]{Settles: m.settles, Pass: m.passClaim, Retry: node.LeaderChanged, Now: m.monotonic}
	close(m.opened)
	m.halt.then(node.Fail)
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.wg.Go(func() { m.follow(ctx) })
	m.wg.Go(func() { m.heed(ctx) })
	m.wg.Go(func() { m.claims.Run(ctx) })
	return m, nil
}

// haltLatch passes a halt of the state machine to the node. The state machine may
// halt while the node is still being opened.
type haltLatch struct {
	mu   sync.Mutex
	err  error
	call func(error)
}

func (h *haltLatch) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	if h.call != nil {
		h.call(err)
	}
}

func (h *haltLatch) reason() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *haltLatch) then(call func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.call = call
	if h.err != nil {
		call(h.err)
	}
}

// follow applies the replicated state to this process: it sets the limits of the
// clock, forgets deleted sequences, and opens lanes of the default layout as soon as
// the layout exists.
func (m *Member) follow(ctx context.Context) {
	for restored := false; ; {
		changed := m.fsm.Changed()
		if r := m.fsm.Restored(); r != nil && !restored {
			restored = true
			at := time.UnixMilli(r.GetRestoredAtMs()).UTC().Format(time.DateTime)
			m.events.Note(events.Process, slog.LevelWarn, "this cluster was restored from a backup at "+at+" UTC")
		}
		m.clock.SetLimits(clockLimits(m.fsm.ConfigValue()))
		m.sweep()
		if _, ok := m.fsm.Layout(snowflake.Default().Name()); ok {
			if _, err := m.Issuer(ctx, ""); err != nil && ctx.Err() == nil {
				m.logger.Error("lanes of the default layout not opened; retrying", "error", err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// sweep forgets sequences that were deleted.
func (m *Member) sweep() {
	var live int
	m.fsm.View(func(s *fsm.State) { live = s.SequenceCount() })
	m.counters.sweep(live, m.exists)
	if lt := m.leaderTerm.Load(); lt != nil {
		lt.sweep(live)
	}
}

func (m *Member) exists(sequence string) bool {
	_, _, ok := m.fsm.SequenceStamp(sequence)
	return ok
}

func clockLimits(c *commandv1.Config) clock.Limits {
	return clock.Limits{
		WaitThreshold: time.Duration(c.GetWaitThresholdMs()) * time.Millisecond,
		MaxOffset:     time.Duration(c.GetMaxClockOffsetMs()) * time.Millisecond,
		Swap:          c.GetRollback() == commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
	}
}

// Node returns the member's Raft node, which the Member owns.
func (m *Member) Node() *cluster.Node { return m.node }

// State returns the member's replica. Only committed commands change it.
func (m *Member) State() *fsm.Machine { return m.fsm }

// Events returns the recent events of the member.
func (m *Member) Events() *events.Ring { return m.events }

// Clock returns the watch over the member's clock.
func (m *Member) Clock() *clock.Watch { return m.clock }

// Ready returns nil if the member can issue IDs of the default layout now, otherwise the reason. It takes no ID.
func (m *Member) Ready() error {
	i := (*m.byName.Load())[snowflake.Default().Name()]
	if i == nil {
		if err := m.mustStop(); err != nil {
			return err // a witness that restarted has applied nothing
		}
		return errors.New(cmp.Or(m.node.NoLeader(), "this member has not received the state of its cluster"))
	}
	return i.Ready()
}

// closeLanes stops issuing and releases the workers; ctx bounds the time for that.
func (m *Member) closeLanes(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true // no issuer is added after this
	m.mu.Unlock()
	issuers := *m.byName.Load()
	errs := make(chan error, len(issuers))
	for _, i := range issuers {
		go func() { errs <- i.Close(ctx) }()
	}
	var all []error
	for range issuers {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// Close releases the workers, returns the unused ends of blocks, transfers leadership and stops the member. ctx bounds
// the time for everything before the stop.
func (m *Member) Close(ctx context.Context) error {
	if m.node.Failure() != nil {
		// Nothing can be returned through a node that failed; do not wait for it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	err := m.closeLanes(ctx)
	if err != nil {
		m.logger.Warn("workers not released; they become free when their windows end", "error", err)
	}
	if err := m.closeCounters(ctx); err != nil {
		m.logger.Warn("blocks not returned; their numbers are skipped", "error", err)
	}
	m.cancel()
	err = m.node.Close(ctx)
	m.wg.Wait()
	return err
}

// UnknownLayoutError reports that no layout has this name.
type UnknownLayoutError struct{ Layout string }

func (e *UnknownLayoutError) Error() string {
	return fmt.Sprintf(`layout %q does not exist; see "snowraft layout list", or create the layout with "snowraft layout create"`, e.Layout)
}
