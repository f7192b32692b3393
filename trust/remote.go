package trust

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// verdictLife is the time for which a member's answer about a token counts.
	verdictLife = 30 * time.Second
	// refusalLife is the time for which an answer counts that no such token exists, and for which an error
	// counts.
	refusalLife = time.Second
	// verdictWait bounds a query to members that has no caller's context.
	verdictWait = 5 * time.Second
)

// Verifier queries a member about the text of a token; the text is empty for callers without one. The record is
// nil if the token is not valid.
type Verifier func(ctx context.Context, text string) (*Record, error)

// Remote authenticates the callers of a gateway, which has no replica, by queries to members. It keeps the answer about a
// token for 30 s, so a change of the token may take that long to have an effect. It is safe for concurrent use.
type Remote struct {
	// Address returns the address of a call's caller. NewRemote sets it to [AddressOf].
	Address func(ctx context.Context) string

	ask   Verifier
	asked slots         // queries about texts of unknown callers
	again chan struct{} // queries about texts that were good, which unknown callers cannot delay

	mu       sync.Mutex
	verdicts verdictCache // guarded by mu
}

// NewRemote returns a Remote that queries members with ask.
func NewRemote(ask Verifier) *Remote {
	return &Remote{Address: AddressOf, ask: ask, again: make(chan struct{}, maxSlots), verdicts: newVerdictCache()}
}

// verdict is the answer of the members about a token, and the token's principal.
type verdict struct {
	Principal
	remote *Remote
	text   string
	key    textHash
	good   atomic.Bool // kept in verdicts.good
	word   atomic.Pointer[word]
	asking chan struct{} // holds one item while a query runs
}

// word is the answer of a member. It is immutable.
type word struct {
	state *state // the record is nil if the token is not valid
	err   error  // no member answered
	until time.Time
}

func (w *word) fresh() bool { return w != nil && time.Now().Before(w.until) }

func (w *word) judge() (*state, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.state.record == nil:
		return nil, &Denied{Unauthenticated: true, Fault: FaultUnknown, Detail: "unknown or expired token: no valid token has this ID and secret; check its text, or send another token"}
	default:
		return w.state, nil
	}
}

// Authenticate returns the principal of a token with a text, or the anonymous principal for an empty text. The
// error is a [*Denied], that of ctx, or that of the query to the members.
func (r *Remote) Authenticate(ctx context.Context, text string) (*Principal, error) {
	kind, id := kindAnonymous, uint64(0)
	if text != "" {
		token, err := ParseToken(text)
		if err != nil {
			return nil, &Denied{Unauthenticated: true, Fault: FaultMalformed, Detail: err.Error()}
		}
		// The pin is not part of the secret. With the pin, one token would be many principals, each with its
		// own rate.
		kind, id, text = kindToken, token.ID, unpinned(text)
	}
	v := r.verdict(text, kind, id)
	if _, err := v.renewed(ctx); err != nil {
		return nil, err
	}
	if !v.good.Load() {
		r.mu.Lock()
		defer r.mu.Unlock()
		v = r.verdicts.addGood(v)
	}
	return &v.Principal, nil
}

// Forwarded returns an error: members forward no calls to a gateway.
func (r *Remote) Forwarded(context.Context, string) (*Principal, error) {
	return nil, &Denied{Unauthenticated: true, Fault: FaultMalformed, Detail: "call forwarded to a process that is not a member; send it to a member"}
}

// verdict returns the verdict on a text; a new one without an answer if there is none.
func (r *Remote) verdict(text string, kind kind, id uint64) *verdict {
	key := textHash(sha256.Sum256([]byte(text)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.verdicts.find(key); v != nil {
		return v
	}
	v := &verdict{remote: r, text: text, key: key, asking: make(chan struct{}, 1)}
	v.kind, v.id, v.source = kind, id, v
	v.bucket.fill()
	r.verdicts.addUntrusted(v)
	return v
}

// present implements records, for principals that connections keep.
func (v *verdict) present() (*state, error) {
	if w := v.word.Load(); w.fresh() {
		return w.judge()
	}
	ctx, cancel := context.WithTimeout(context.Background(), verdictWait)
	defer cancel()
	return v.renewed(ctx)
}

// refusal implements records, by the last word of a member.
func (*verdict) refusal(err error) error { return err }

// gone implements records.
func (v *verdict) gone() bool {
	w := v.word.Load()
	return w != nil && w.err == nil && w.state.record == nil
}

// renewed queries a member unless there is a fresh answer. One caller does so for all, but its canceled context fails only
// itself, unlike with singleflight.
func (v *verdict) renewed(ctx context.Context) (*state, error) {
	if w := v.word.Load(); w.fresh() {
		return w.judge()
	}
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w := v.word.Load(); w.fresh() {
		return w.judge()
	}
	leave, err := v.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	record, err := v.remote.ask(ctx, v.text)
	if err != nil && ctx.Err() != nil {
		return nil, err // the caller's context ended, which does not concern other callers
	}
	w := &word{err: err, until: time.Now().Add(verdictLife)}
	if err != nil || record == nil {
		w.until = time.Now().Add(refusalLife)
	}
	if err == nil {
		w.state = newState(0, record)
	}
	v.word.Store(w)
	if err == nil && record == nil {
		v.remote.refuse(v)
	}
	return w.judge()
}

// slot waits for a slot for a query about the text. The caller releases it with leave.
func (v *verdict) slot(ctx context.Context) (leave func(), err error) {
	if !v.good.Load() {
		return v.remote.asked.take(ctx, v.remote.Address(ctx))
	}
	select {
	case v.remote.again <- struct{}{}:
		return func() { <-v.remote.again }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *Remote) refuse(v *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts.demote(v)
}

// Bearer returns the text of the token that the caller presented to this gateway. It is empty for callers
// without a token, and outside of gateways.
func (p *Principal) Bearer() string {
	if p == nil {
		return ""
	}
	if v, ok := p.source.(*verdict); ok {
		return v.text
	}
	return ""
}
