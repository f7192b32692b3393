package fsm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxTokens is the greatest number of API tokens of a cluster.
const maxTokens = 10_000

// AnonymousToken is the name that records show for callers without a token; no token has it.
const AnonymousToken = "anonymous"

// TokenRecord is an API token or, with the ID 0, the record of anonymous callers. It is never changed, only
// replaced, and readers must not change it.
type TokenRecord struct {
	ID         uint64 // log index of the command that created the token
	Generation uint64 // log index of the last change; 0 for anonymous callers before the first
	Name       string
	Hash       [hashBytes]byte // SHA-256 of the token's secret
	// Scopes are the rights of the token. The state machine does not read them.
	Scopes          []string
	CreatedMillis   int64 // Unix ms on the proposer's clock
	ExpiresAtMillis int64 // Unix ms on the observed clock; 0 for never
	// Rate is the greatest number of IDs and numbers that each member issues per second, Burst the greatest number at
	// once; both 0 for no limit.
	Rate, Burst uint64
	// Sequences is the greatest number of sequences that callers with the token can begin by first use, 0 for no limit;
	// Begun is the number that they have begun, deleted ones included.
	Sequences, Begun uint64
	Disabled         bool // set by a restore, until an update enables the token

	narrowed uint64 // log index of the last change that removed a scope; the ID if there was none
}

// newAnonymous returns the record of anonymous callers in a new cluster.
func newAnonymous() *TokenRecord {
	return &TokenRecord{Name: AnonymousToken, Scopes: []string{"metrics:read"}}
}

// tokens holds all API tokens and the record of anonymous callers. It is copied, never changed in place, so that
// readers without a lock and snapshots share it.
type tokens struct {
	byID      []*TokenRecord // ascending
	anonymous *TokenRecord
}

// find returns a token's record and its place in byID; for the ID 0, the record of anonymous callers. If there is no
// such token, place is where it would be.
func (t tokens) find(id uint64) (record *TokenRecord, place int, ok bool) {
	if id == 0 {
		return t.anonymous, 0, true
	}
	place, ok = slices.BinarySearchFunc(t.byID, id, func(r *TokenRecord, id uint64) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil, place, false
	}
	return t.byID[place], place, true
}

// named returns the token with that name; nil if there is none.
func (t tokens) named(name string) *TokenRecord {
	if at := slices.IndexFunc(t.byID, func(r *TokenRecord) bool { return r.Name == name }); at >= 0 {
		return t.byID[at]
	}
	return nil
}

// with returns the tokens with a record added or replaced.
func (t tokens) with(r *TokenRecord) tokens {
	_, place, ok := t.find(r.ID)
	switch {
	case r.ID == 0:
		t.anonymous = r
	case ok:
		t.byID = slices.Clone(t.byID)
		t.byID[place] = r
	default:
		t.byID = slices.Insert(slices.Clone(t.byID), place, r)
	}
	return t
}

// without returns the tokens without the one at that place.
func (t tokens) without(place int) tokens {
	t.byID = slices.Delete(slices.Clone(t.byID), place, place+1)
	return t
}

// Token returns the API token with that ID; for the ID 0, the record of anonymous callers.
func (s *State) Token(id uint64) (*TokenRecord, bool) {
	r, _, ok := s.tokens.find(id)
	return r, ok
}

// TokenNamed returns the API token with that name.
func (s *State) TokenNamed(name string) (*TokenRecord, bool) {
	r := s.tokens.named(name)
	return r, r != nil
}

// Tokens returns up to limit API tokens after an ID, in ascending order of their IDs. No token needs to have the ID.
func (s *State) Tokens(after uint64, limit int) []*TokenRecord {
	_, place, ok := s.tokens.find(after)
	if ok && after != 0 {
		place++
	}
	rest := s.tokens.byID[place:]
	return slices.Clone(rest[:min(max(limit, 0), len(rest))])
}

// checkTokenName returns an error if CreateToken would refuse the name of a token. Holders are shown as
// token/holder, so a name has no slash.
func checkTokenName(name string) error {
	switch {
	case strings.Contains(name, "/"):
		return fmt.Errorf("token name %q: must not contain \"/\"; choose another name", name)
	case name == AnonymousToken:
		return fmt.Errorf("token name %q: stands for callers without a token; choose another name", name)
	}
	return names.Check("token name", name)
}

// grants is the permissions of a token in CreateToken, UpdateToken and a snapshot.
type grants interface {
	GetScopes() []string
	GetExpiresAtMs() int64
	GetRate() uint64
	GetBurst() uint64
	GetSequences() uint64
}

// checkGrants checks the form of a token's permissions. The proposer checks their meaning.
func checkGrants(g grants) error {
	if n := len(g.GetScopes()); n > limits.TokenScopes {
		return fmt.Errorf("%d scopes: expected at most %d", n, limits.TokenScopes)
	}
	for i, scope := range g.GetScopes() {
		if scope == "" || len(scope) > limits.ScopeBytes {
			return fmt.Errorf("scope of %d bytes: expected 1 to %d bytes", len(scope), limits.ScopeBytes)
		}
		if err := names.CheckText("scope", scope); err != nil {
			return err
		}
		if slices.Contains(g.GetScopes()[:i], scope) {
			return fmt.Errorf("scope %q: listed twice; remove one", scope)
		}
	}
	if g.GetExpiresAtMs() < 0 {
		return fmt.Errorf("expiry at %d ms: expected a time after 1970, or 0 for never", g.GetExpiresAtMs())
	}
	if g.GetRate() > limits.TokenRate || g.GetBurst() > limits.TokenRate || (g.GetRate() == 0) != (g.GetBurst() == 0) {
		return fmt.Errorf("rate %d with burst %d: expected both from 1 to %d, or both 0", g.GetRate(), g.GetBurst(), uint64(limits.TokenRate))
	}
	if g.GetSequences() > maxSequences {
		return fmt.Errorf("limit of %d sequences: expected at most %d, or 0 for no limit", g.GetSequences(), maxSequences)
	}
	return nil
}

// createToken adds a token. Repeating it with the same hash changes nothing and succeeds.
func (s *State) createToken(e entry) Result {
	c := e.cmd.GetCreateToken()
	err := checkTokenName(c.GetName())
	hash, ok := hashOf(c.GetHash())
	if err == nil && !ok {
		err = fmt.Errorf("token hash of %d bytes: expected %d bytes", len(c.GetHash()), hashBytes)
	}
	if err == nil {
		err = checkGrants(c)
	}
	if err != nil {
		return Result{Err: invalid("%v", err)}
	}
	made := &TokenRecord{
		ID: e.index, Generation: e.index, Name: c.GetName(), Hash: hash,
		Scopes: slices.Clone(c.GetScopes()), CreatedMillis: e.now, ExpiresAtMillis: c.GetExpiresAtMs(),
		Rate: c.GetRate(), Burst: c.GetBurst(), Sequences: c.GetSequences(), narrowed: e.index,
	}
	if old := s.tokens.named(c.GetName()); old != nil {
		if old.Hash != made.Hash {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_TOKEN_EXISTS, "token %q exists; choose another name, or delete the token", old.Name)}
		}
		return Result{Token: old}
	}
	if len(s.tokens.byID) >= s.maxTokens {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED, "limit of %d tokens reached; delete one that is not used", s.maxTokens)}
	}
	if last := s.Tokens(e.index-1, 1); len(last) > 0 {
		return halted(haltAt(e.index, adviseRejoin, fmt.Errorf("token %d exists already, and indexes must grow", last[0].ID)))
	}
	s.setTokens(s.tokens.with(made))
	return Result{Token: made}
}

// updateToken replaces the permissions of a token or, with the ID 0, of anonymous callers.
func (s *State) updateToken(e entry) Result {
	c := e.cmd.GetUpdateToken()
	old, _, ok := s.tokens.find(c.GetId())
	if !ok {
		return Result{Err: unknownToken(c.GetId())}
	}
	err := checkGrants(c)
	if err == nil && c.GetId() == 0 && c.GetExpiresAtMs() != 0 {
		err = fmt.Errorf("expiry: must be 0 for anonymous callers")
	}
	if err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if refused := old.checkGeneration(c.GetGeneration()); refused != nil {
		return Result{Err: refused}
	}
	if e.index <= old.Generation {
		return halted(haltAt(e.index, adviseRejoin, fmt.Errorf("token %d was changed at index %d already, and indexes must grow", old.ID, old.Generation)))
	}
	next := *old
	next.Generation, next.Scopes = e.index, slices.Clone(c.GetScopes())
	next.ExpiresAtMillis, next.Rate, next.Burst = c.GetExpiresAtMs(), c.GetRate(), c.GetBurst()
	next.Disabled, next.Sequences = old.Disabled && !c.GetEnable(), c.GetSequences()
	if slices.ContainsFunc(old.Scopes, func(scope string) bool { return !slices.Contains(next.Scopes, scope) }) {
		next.narrowed = e.index
	}
	s.setTokens(s.tokens.with(&next))
	return Result{Token: &next}
}

// deleteToken deletes a token. It refuses if the command has a generation and the token was changed since.
func (s *State) deleteToken(e entry) Result {
	c := e.cmd.GetDeleteToken()
	old, place, ok := s.tokens.find(c.GetId())
	if !ok || c.GetId() == 0 {
		return Result{Err: unknownToken(c.GetId())}
	}
	if c.GetGeneration() != 0 {
		if refused := old.checkGeneration(c.GetGeneration()); refused != nil {
			return Result{Err: refused}
		}
	}
	s.setTokens(s.tokens.without(place))
	return Result{}
}

// checkGeneration refuses a command that was decided for another generation: a compare-and-swap.
func (r *TokenRecord) checkGeneration(generation uint64) *Refused {
	if generation == r.Generation {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
		"token %d has generation %d, not %d; read it again before you repeat the change", r.ID, r.Generation, generation)
}

func (s *State) setTokens(t tokens) {
	s.tokens = t
	s.tokenRevision++
}

func unknownToken(id uint64) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_UNKNOWN_TOKEN, `token %d does not exist; see "snowraft token list"`, id)
}
