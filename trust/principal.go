package trust

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

type kind uint8

const (
	kindOpen kind = iota + 1
	kindMember
	kindAdmin
	kindToken
	kindAnonymous
)

// Principal is the party on whose behalf a call is made. It checks rights and names the actor in records. It is
// safe for concurrent use. The nil Principal has no rights.
//
// The principal of a token follows the token: its rights change with those of the token, and end when the token
// is deleted or expires. A connection may therefore keep it, and equal pointers mean the same token.
type Principal struct {
	kind    kind
	id      uint64  // kindToken
	member  string  // kindMember
	claimed bool    // kindMember: nothing proves the ID
	source  records // kindToken, kindAnonymous
	bucket  bucket

	mu   sync.Mutex
	name string // kindToken: last known name
}

// records provides the present state of one token.
type records interface {
	// present returns the rights of the token, or an error if the token is no longer valid.
	present() (*state, error)
	// gone reports whether the token is known to be no longer valid. It does not wait.
	gone() bool
	// refusal returns the error to refuse a call with: err, nil included, unless the rights may be outdated.
	refusal(err error) error
}

var (
	open  = &Principal{kind: kindOpen}
	admin = &Principal{kind: kindAdmin}
)

// Open returns the principal of every call in a cluster without a secret. It may do everything.
func Open() *Principal { return open }

// Admin returns the principal of an administrator's certificate. It may do everything except the calls that members make.
func Admin() *Principal { return admin }

// Member returns the principal of a member's certificate. It may do everything.
func Member(id string) *Principal { return &Principal{kind: kindMember, member: id} }

// ClaimedMember returns the principal of a caller that calls itself a member, in a cluster without a secret. It may do
// everything, as every caller there. Records do not repeat the name, which nothing proves.
func ClaimedMember(id string) *Principal {
	return &Principal{kind: kindMember, member: id, claimed: true}
}

// IsOpen reports whether the call is made in a cluster without a secret.
func (p *Principal) IsOpen() bool { return p == open }

// IsMember reports whether a member makes the call on its own behalf.
func (p *Principal) IsMember() bool { return p != nil && p.kind == kindMember }

// IsProven reports whether the caller presented a valid token or a valid certificate.
func (p *Principal) IsProven() bool {
	return p != nil && p.kind != kindOpen && p.kind != kindAnonymous && !p.claimed
}

// MemberID returns the ID of the member that makes the call; empty if the caller is not a member.
func (p *Principal) MemberID() string {
	if p == nil {
		return ""
	}
	return p.member
}

// IsAdmin reports whether the caller has an administrator's certificate.
func (p *Principal) IsAdmin() bool { return p != nil && p.kind == kindAdmin }

// IsAnonymous reports whether the caller presented neither a token nor a certificate.
func (p *Principal) IsAnonymous() bool { return p != nil && p.kind == kindAnonymous }

// TokenID returns the ID of the caller's token; 0 without one.
func (p *Principal) TokenID() uint64 {
	if p == nil {
		return 0
	}
	return p.id
}

// TokenName returns the last known name of the caller's token; empty without one.
func (p *Principal) TokenName() string {
	if p == nil || p.kind != kindToken {
		return ""
	}
	now, err := p.source.present()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.name = now.record.Name
	}
	return p.name
}

// Gone reports whether the caller's token is known to be no longer valid. It does not wait, and takes
// nanoseconds. p must not be nil.
func (p *Principal) Gone() bool { return p.source != nil && p.source.gone() }

// Forwarded returns the caller that a member names when it forwards a call; it is not a secret. It is empty for
// a call of the member's own.
func (p *Principal) Forwarded() string {
	switch {
	case p == nil:
		return ""
	case p.kind == kindOpen:
		return forwardedOpen
	case p.kind == kindAdmin:
		return forwardedAdmin
	case p.kind == kindAnonymous:
		return forwardedAnonymous
	case p.kind == kindToken:
		return strconv.FormatUint(p.id, 10)
	default:
		return ""
	}
}

// Actor returns the name of the caller for the audit log and other records.
func (p *Principal) Actor() string {
	if p == nil {
		return "unknown"
	}
	switch p.kind {
	case kindOpen:
		return "open"
	case kindMember:
		if p.claimed {
			return open.Actor()
		}
		return "member " + p.member
	case kindAdmin:
		return "admin"
	case kindAnonymous:
		return "anonymous"
	default:
		return fmt.Sprintf("token %d (%s)", p.id, p.TokenName())
	}
}

// Authorize returns nil if the caller has a right, otherwise a [*Denied] or [ErrBehind]. The resource is the effective name:
// that of the default layout if the request omits the layout. "*" means every name.
func (p *Principal) Authorize(right, resource string) error {
	_, err := p.authorize(right, resource)
	return err
}

// authorize also returns the state of the token that gives the right; nil if the right does not depend on a token.
func (p *Principal) authorize(right, resource string) (*state, error) {
	if p == nil {
		return nil, noToken(right, resource)
	}
	switch p.kind {
	case kindOpen, kindMember:
		return nil, nil
	case kindAdmin:
		if right == RightMember {
			return nil, &Denied{Fault: FaultScope, Right: right, Detail: "only members make this call"}
		}
		return nil, nil
	default:
		return p.judge(right, resource)
	}
}

func (p *Principal) judge(right, resource string) (*state, error) {
	now, err := p.source.present()
	if err != nil {
		return now, p.source.refusal(err)
	}
	if now.covers(right, resource) {
		return now, nil
	}
	switch {
	case p.kind == kindAnonymous:
		return now, p.source.refusal(noToken(right, resource))
	case right == RightAny:
		return now, nil
	case right == RightMember:
		return now, &Denied{Fault: FaultScope, Right: right, Detail: "only members make this call"}
	default:
		return now, p.source.refusal(&Denied{Fault: FaultScope, Right: right, Resource: resource, Detail: fmt.Sprintf("token %d lacks the scope %s", p.id, needed(right, resource))})
	}
}

// Sees reports whether the caller may learn that a sequence exists: a scope of its token names the sequence. A member on its own
// behalf sees none, because what it learns may reach any caller.
func (p *Principal) Sees(sequence string) bool {
	if p == nil || p.kind == kindMember {
		return false
	}
	return slices.ContainsFunc([]string{RightReadSequence, RightNextNumbers, RightAdminSequence}, func(right string) bool {
		return p.Authorize(right, sequence) == nil
	})
}

// needed returns the narrowest scope that covers a right.
func needed(right, resource string) string {
	if resource == "" {
		return right
	}
	return right + ":" + resource
}

// Denied is the error of a call that its principal must not make.
type Denied struct {
	Unauthenticated bool // no valid token; otherwise the token lacks a scope
	Fault           Fault
	Right, Resource string // empty if the token itself is the problem
	Detail          string // text of the error, with the action to take
}

func (d *Denied) Error() string { return d.Detail }

// noToken returns the error of a call whose caller presented neither a token nor a certificate.
func noToken(right, resource string) error {
	return &Denied{
		Unauthenticated: true, Fault: FaultMissing, Right: right, Resource: resource,
		Detail: `no token: the call needs an API token; send it as "Authorization: Bearer TOKEN" (command line: --token or SNOWRAFT_TOKEN)`,
	}
}

type principalKey struct{}

// WithPrincipal returns a context of calls on behalf of p.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the principal of a call; nil if the caller was not authenticated.
func PrincipalOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

type relayKey struct{}

// WithRelay returns a context of calls that the member with an ID forwards.
func WithRelay(ctx context.Context, member string) context.Context {
	return context.WithValue(ctx, relayKey{}, member)
}

// RelayOf returns the ID of the member that forwards a call; empty if no member does.
func RelayOf(ctx context.Context) string {
	member, _ := ctx.Value(relayKey{}).(string)
	return member
}

type addressKey struct{}

// WithAddress returns a context of calls from an address, for the audit log.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// AddressOf returns the address that a call comes from; empty if the context has none.
func AddressOf(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}
