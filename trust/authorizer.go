package trust

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// replicaWait is the longest time that a token waits for a replica that may be behind the command that created
// the token.
const replicaWait = time.Second

// Table holds the tokens that a process knows. All methods are safe for concurrent use.
type Table interface {
	// TokenRevision returns a number that changes with every change of a token or of the anonymous record. It
	// is cheap.
	TokenRevision() uint64
	// Token returns the token with an ID; false if the process knows no such token.
	Token(id uint64) (*Record, bool)
	// Anonymous returns the record of callers without a token.
	Anonymous() *Record
	// NeverIssued reports whether the process knows that no command has had this index in the log yet.
	NeverIssued(index uint64) bool
	// AwaitApplied returns nil once the replica has applied the log up to an index, or is known to have all commands up to it.
	AwaitApplied(ctx context.Context, index uint64) error
	// CaughtUp reports whether the replica has applied, since the start of the process, all that the cluster had committed.
	CaughtUp() bool
	// NowMillis returns the observed clock plus the monotonic time since, in Unix ms.
	NowMillis() int64
}

// Record is a token as the cluster knows it. It is immutable.
type Record struct {
	ID              uint64
	Name            string
	Hash            [32]byte // SHA-256 of the secret
	Scopes          []Scope
	ExpiresAtMillis int64  // Unix ms on the observed clock; 0: never
	Rate, Burst     uint64 // numbers per second, and at once; a rate of 0 means unlimited
	Disabled        bool   // a restore of the cluster disabled the token
}

// Authorizer authenticates the callers of a member from a replica, without the leader. It is safe for
// concurrent use.
type Authorizer struct {
	// Address returns the address of a call's caller; [AddressOf] if nil.
	Address func(ctx context.Context) string

	table     Table
	anonymous *Principal
	waiting   slots
	known     sync.Map // uint64 to *known: tokens with a verified text, or in forwarded calls

	mu    sync.Mutex
	swept uint64 // revision at the last removal of deleted tokens
}

// known is a token that exists or existed.
type known struct {
	Principal
	table Table
	state atomic.Pointer[state]
	// text is the token's text that was verified last, without its pin; nil for none.
	text atomic.Pointer[string]
}

func newKnown(table Table, kind kind, id uint64) *known {
	k := &known{table: table}
	k.kind, k.id, k.source = kind, id, k
	k.bucket.fill()
	return k
}

// state is a record as of a revision of the table.
type state struct {
	revision uint64
	record   *Record // nil if the token was deleted
	grants   []grant // scopes of the record
}

// grant is a scope in parts, split once for all calls.
type grant struct {
	right, name string
	prefix      bool // name is a prefix
}

func newState(revision uint64, record *Record) *state {
	s := &state{revision: revision, record: record}
	if record == nil {
		return s
	}
	for _, scope := range record.Scopes {
		right, name := scope.parts()
		g := grant{right: right, name: name}
		if TakesResource(right) {
			g.name, g.prefix = strings.CutSuffix(name, "*")
		}
		s.grants = append(s.grants, g)
	}
	return s
}

// covers reports whether a scope covers a right, as [Scope.Covers] does. A scope of all names also covers the empty name,
// which no resource has.
func (s *state) covers(right, resource string) bool {
	for _, g := range s.grants {
		if g.right == right && (g.name == resource || g.prefix && resource != "" && strings.HasPrefix(resource, g.name)) {
			return true
		}
	}
	return false
}

// NewAuthorizer returns an authorizer that reads tokens from table.
func NewAuthorizer(table Table) *Authorizer {
	a := &Authorizer{table: table}
	a.anonymous = &newKnown(table, kindAnonymous, 0).Principal
	return a
}

// Authenticate returns the principal of a token with a text, or the anonymous principal for an empty text. The
// error is a [*Denied], [ErrBehind], or that of ctx.
func (a *Authorizer) Authenticate(ctx context.Context, text string) (*Principal, error) {
	if text == "" {
		return a.anonymous, nil
	}
	body := unpinned(text)
	if k, ok := a.find(idOf(text)); ok {
		if verified := k.text.Load(); verified != nil && equal(*verified, body) {
			_, err := k.present()
			return &k.Principal, k.refusal(err)
		}
	}
	token, err := ParseToken(text)
	if err != nil {
		return nil, &Denied{Unauthenticated: true, Fault: FaultMalformed, Detail: err.Error()}
	}
	record, err := a.awaitFor(ctx, token.ID)
	if err != nil {
		return nil, err
	}
	hash := HashTokenSecret(token.Secret)
	if record == nil || subtle.ConstantTimeCompare(hash[:], record.Hash[:]) != 1 {
		return nil, &Denied{Unauthenticated: true, Fault: FaultUnknown, Detail: "unknown token: the cluster has no token with this ID and secret; check its text, or send another token"}
	}
	k := a.intern(record)
	verified := body // a copy, so that body itself stays on the stack
	k.text.Store(&verified)
	_, err = k.present()
	return &k.Principal, k.refusal(err)
}

// The names of callers without a token whose calls a member forwards; see [Principal.Forwarded].
const (
	forwardedOpen      = "open"
	forwardedAdmin     = "admin"
	forwardedAnonymous = "anonymous"
)

// Forwarded returns the principal of a call that another member forwards. as is the result of
// [Principal.Forwarded] on that member. The caller of this method must have verified that a member makes the
// call.
func (a *Authorizer) Forwarded(ctx context.Context, as string) (*Principal, error) {
	switch as {
	case forwardedAdmin:
		return admin, nil
	case forwardedAnonymous:
		return a.anonymous, nil
	}
	id, err := strconv.ParseUint(as, 10, 64)
	if err != nil || id == 0 {
		return nil, &Denied{Unauthenticated: true, Fault: FaultMalformed, Detail: fmt.Sprintf("call forwarded for %q: unknown kind of caller; upgrade this member", as)}
	}
	k, ok := a.find(id)
	if !ok {
		record, err := a.await(ctx, id)
		if err != nil {
			return nil, err
		}
		if record == nil {
			return nil, deleted(id)
		}
		k = a.intern(record)
	}
	_, err = k.present()
	return &k.Principal, k.refusal(err)
}

// Anonymous returns the principal of calls without a token.
func (a *Authorizer) Anonymous() *Principal { return a.anonymous }

func (a *Authorizer) find(id uint64) (*known, bool) {
	k, ok := a.known.Load(id)
	if !ok {
		return nil, false
	}
	return k.(*known), true
}

// intern returns the one principal of a token. It removes the principals of deleted tokens.
func (a *Authorizer) intern(record *Record) *known {
	a.mu.Lock()
	defer a.mu.Unlock()
	if revision := a.table.TokenRevision(); revision != a.swept {
		a.swept = revision
		for id := range a.known.Range {
			if _, ok := a.table.Token(id.(uint64)); !ok {
				a.known.Delete(id)
			}
		}
	}
	found, _ := a.known.LoadOrStore(record.ID, newKnown(a.table, kindToken, record.ID))
	return found.(*known)
}

// ErrBehind is the error of a caller that a replica cannot judge, because the replica may not know the token or its scopes
// yet.
var ErrBehind = errors.New("this member is behind the others, and may not know the token or its scopes yet; try again, or try another member")

// awaitFor is await for a caller that may be unknown. Its wait takes a slot, for which it waits no longer than for the replica.
func (a *Authorizer) awaitFor(ctx context.Context, id uint64) (*Record, error) {
	if record, ok := a.table.Token(id); ok || a.table.NeverIssued(id) {
		return record, nil
	}
	address := a.Address
	if address == nil {
		address = AddressOf
	}
	wait, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	leave, err := a.waiting.take(wait, address(ctx))
	switch {
	case err == nil:
		defer leave()
		return a.await(ctx, id)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, ErrBehind
	}
}

// await returns the record of a token, nil if there is none. It gives a replica that may be behind a moment to
// catch up. After that it returns [ErrBehind] for a token that the replica cannot know.
func (a *Authorizer) await(ctx context.Context, id uint64) (*Record, error) {
	if record, ok := a.table.Token(id); ok {
		return record, nil
	}
	if a.table.NeverIssued(id) {
		return nil, nil
	}
	wait, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	if a.table.AwaitApplied(wait, id) != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, ErrBehind
	}
	record, _ := a.table.Token(id)
	return record, nil
}

// present implements records.
func (k *known) present() (*state, error) {
	s, revision := k.state.Load(), k.table.TokenRevision()
	if s == nil || s.revision != revision {
		record := k.table.Anonymous
		if k.kind == kindToken {
			record = func() *Record {
				r, _ := k.table.Token(k.id)
				return r
			}
		}
		s = newState(revision, record())
		k.state.Store(s)
	}
	switch {
	case s.record == nil:
		return nil, deleted(k.id)
	case s.record.Disabled:
		return nil, &Denied{Unauthenticated: true, Fault: FaultDisabled, Detail: fmt.Sprintf("token %d was disabled by a restore of the cluster; enable it with \"snowraft token update --enable\", or send another token", k.id)}
	case s.record.ExpiresAtMillis != 0 && k.table.NowMillis() >= s.record.ExpiresAtMillis:
		return nil, &Denied{Unauthenticated: true, Fault: FaultExpired, Detail: fmt.Sprintf("token %d has expired; extend it with \"snowraft token update\", or send another token", k.id)}
	default:
		return s, nil
	}
}

// refusal returns the error of a call that the present record refuses. A replica that has not caught up may have a former
// record, so it refuses for the moment only.
func (k *known) refusal(err error) error {
	if err != nil && !k.table.CaughtUp() {
		return ErrBehind
	}
	return err
}

// gone implements records.
func (k *known) gone() bool {
	_, err := k.present()
	return err != nil
}

func deleted(id uint64) error {
	return &Denied{Unauthenticated: true, Fault: FaultUnknown, Detail: fmt.Sprintf("token %d does not exist; send another token", id)}
}

// idOf returns the ID in the text of a token; 0 if the text has none.
func idOf(text string) uint64 {
	_, rest, _ := strings.Cut(text, "_")
	digits, _, _ := strings.Cut(rest, "_")
	id, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// unpinned returns the text of a token without its pin, which is not part of the secret.
func unpinned(text string) string {
	at := 0
	for range 3 {
		next := strings.IndexByte(text[at:], '_')
		if next < 0 {
			return text
		}
		at += next + 1
	}
	return text[:at-1]
}

// equal compares two texts without copies, in a time that depends only on their lengths.
func equal(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var differ byte
	for i := range len(a) {
		differ |= a[i] ^ b[i]
	}
	return subtle.ConstantTimeByteEq(differ, 0) == 1
}

// Everyone authenticates the callers of an open cluster: each of them is [Open], whatever token it has.
type Everyone struct{}

// Authenticate returns [Open].
func (Everyone) Authenticate(context.Context, string) (*Principal, error) { return open, nil }

// Forwarded returns [Open].
func (Everyone) Forwarded(context.Context, string) (*Principal, error) { return open, nil }
