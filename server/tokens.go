package server

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/trust"
)

const (
	// tokenLag is the greatest difference between the observed clock and the clock of a member that is up to date. tokenRoom is
	// the number of commands that may be on their way to such a member.
	tokenLag  = 10_000 // ms
	tokenRoom = 100_000
	// mostNamed is the maximum number of token names in a log line.
	mostNamed = 20
)

// tokenTable reads the tokens of this member's replica. It implements trust.Table.
type tokenTable struct {
	server *Server
	clock  *tokenClock // nil until the member is open
}

// TokenRevision implements trust.Table.
func (t *tokenTable) TokenRevision() uint64 { return t.server.member.State().TokenRevision() }

// Token implements trust.Table.
func (t *tokenTable) Token(id uint64) (*trust.Record, bool) {
	r, ok := t.server.member.State().Token(id)
	if !ok {
		return nil, false
	}
	return tokenRecord(r), true
}

// Anonymous implements trust.Table.
func (t *tokenTable) Anonymous() *trust.Record {
	return tokenRecord(t.server.member.State().Anonymous())
}

// NeverIssued implements trust.Table. It adds tokenRoom to the last index of this member, because commands may be on their way. The
// member must follow a leader and have applied a recent command; otherwise the result is false.
func (t *tokenTable) NeverIssued(index uint64) bool {
	m := t.server.member
	late := m.Clock().Now().Wall - m.State().Observed().Load()
	return max(late, -late) < tokenLag && index > m.Node().LastIndex()+tokenRoom && m.Node().InTouch()
}

// AwaitApplied implements trust.Table. A leader does not wait for an index above its last one: no command has it, once a majority
// has confirmed that this member still leads.
func (t *tokenTable) AwaitApplied(ctx context.Context, index uint64) error {
	m := t.server.member
	if m.Node().IsLeader() && index > m.Node().LastIndex() {
		if _, err := m.ReadIndex(ctx); err == nil {
			return nil
		}
	}
	return m.State().AwaitApplied(ctx, index)
}

// CaughtUp implements trust.Table.
func (t *tokenTable) CaughtUp() bool {
	m := t.server.member
	committed, ok := m.Node().Heard()
	return m.Node().IsLeader() || ok && m.State().Applied() >= committed
}

// NowMillis implements trust.Table.
func (t *tokenTable) NowMillis() int64 { return t.clock.now() }

// review waits until the member has caught up, then logs which tokens exist: any client may have created them while the
// cluster was open.
func (t *tokenTable) review(done <-chan struct{}) {
	for t.server.member.Ready() != nil {
		select {
		case <-time.After(time.Second):
		case <-done:
			return
		}
	}
	state := t.server.member.State()
	scopes := state.Anonymous().Scopes
	about := []any{"tokens", state.TokenCount(), "anonymous", scopes}
	if slices.ContainsFunc(scopes, func(scope string) bool { return scope != trust.RightReadMetrics }) {
		t.server.logger.Warn("cluster secured, but callers without a token may do more than read metrics; see \"snowraft token get anonymous\"", about...)
		return
	}
	if names := state.TokenNames(mostNamed); len(names) > 0 && t.server.member.Node().WasOpen() {
		t.server.logger.Warn("cluster secured, but callers may have created its tokens while it was open; delete those that you do not know, "+
			"see \"snowraft token list\"", append(about, "names", names)...)
		return
	}
	t.server.logger.Info("cluster secured", about...)
}

func tokenRecord(r *fsm.TokenRecord) *trust.Record {
	scopes := make([]trust.Scope, len(r.Scopes))
	for i, s := range r.Scopes {
		scopes[i] = trust.Scope(s)
	}
	return &trust.Record{
		ID: r.ID, Name: r.Name, Hash: r.Hash, Scopes: scopes, ExpiresAtMillis: r.ExpiresAtMillis, Rate: r.Rate, Burst: r.Burst,
		Disabled: r.Disabled,
	}
}

// brief is the longest life of a token whose expiry is not announced.
const brief = 7 * 24 * time.Hour

// nextExpiry returns the time at which the next token expires, in Unix seconds, without tokens of a brief life; NaN if none does.
func (t *tokenTable) nextExpiry() float64 {
	if t == nil {
		return math.NaN()
	}
	return unixOrNaN(t.server.member.State().NextTokenExpiry(t.NowMillis(), brief.Milliseconds()))
}
