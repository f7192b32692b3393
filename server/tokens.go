package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/trust"
)

const (
	// tokenClockBeat is how often is looked whether the observed clock moved.
	tokenClockBeat = time.Second
	// tokenClockLead is how far the time of tokens may be ahead of the observed clock when that moves.
	tokenClockLead = 5000 // ms
)

// tokenTable is the tokens of this member's replica. It implements trust.Table.
type tokenTable struct {
	server *Server

	mu       sync.Mutex   // held to move base
	base     atomic.Int64 // the time of tokens minus the monotonic clock, ms
	observed atomic.Int64 // the observed clock that base goes by, Unix ms
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

// AwaitApplied implements trust.Table.
func (t *tokenTable) AwaitApplied(ctx context.Context, index uint64) error {
	return t.server.member.State().AwaitApplied(ctx, index)
}

// NowMillis implements trust.Table. This member's own clock has no say, and while the observed clock stands still, as on a
// member that is cut off, the time goes on.
func (t *tokenTable) NowMillis() int64 {
	m := t.server.member
	observed, mono := m.State().Observed().Load(), m.Clock().Now().Mono
	if observed != t.observed.Load() {
		t.move(observed, observed-mono)
	}
	return t.base.Load() + mono
}

// move sets the time to the observed clock, unless it is ahead by no more than it gained since that moved last.
func (t *tokenTable) move(observed, base int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lead := t.base.Load() - base; observed < t.observed.Load() || lead < 0 || lead > tokenClockLead {
		t.base.Store(base)
	}
	t.observed.Store(observed)
}

// follow notes in time when the observed clock moves.
func (t *tokenTable) follow(done <-chan struct{}) {
	beat := time.NewTicker(tokenClockBeat)
	defer beat.Stop()
	for {
		t.NowMillis()
		select {
		case <-beat.C:
		case <-done:
			return
		}
	}
}

func tokenRecord(r *fsm.TokenRecord) *trust.Record {
	scopes := make([]trust.Scope, len(r.Scopes))
	for i, s := range r.Scopes {
		scopes[i] = trust.Scope(s)
	}
	return &trust.Record{
		ID: r.ID, Name: r.Name, Hash: r.Hash, Scopes: scopes, ExpiresAtMillis: r.ExpiresAtMillis, Rate: r.Rate, Burst: r.Burst,
	}
}
