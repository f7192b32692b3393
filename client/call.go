package client

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/receipt"
	"github.com/snowraft/snowraft/internal/rpc"
)

// call is one call with all its tries.
type call struct {
	*caller
	method   string
	req      any
	callOpts []grpc.CallOption
	policy   policy
	interim  *interim
	round    []*Error // errors of the current round, in which each member is called once
	former   []*Error // errors of the previous round
	before   *Error   // most specific error of all previous rounds
	unknown  *Error   // last try whose outcome is unknown; nil: none
	began    time.Time
}

func newCall(ctx context.Context, c *caller, method string, req any, opts []grpc.CallOption) *call {
	call := &call{caller: c, method: method, req: req, callOpts: opts, policy: policyOf(method, req), began: time.Now()}
	call.interim, _ = ctx.Value(interimKey{}).(*interim)
	if c.opts.oneShot { // direct divides the time among the members
		call.policy.tryTimeout, call.policy.hedged = 0, false
	}
	return call
}

func (c *call) addError(e *Error) {
	e.nth = len(c.round)
	c.round = append(c.round, e)
	if c.interim != nil {
		c.interim.Store(c.withOthers(c.mostSpecific()))
	}
}

// tried returns the members that were called in this round.
func (c *call) tried() (members []string) {
	for _, e := range c.round {
		if e.Member != "" {
			members = append(members, e.Member)
		}
	}
	return members
}

func (c *call) nextRound() { c.before, c.former, c.round = c.mostSpecific(), c.round, nil }

// mostSpecific returns the mostSpecific specific error: one with a member's reason if there is any, and of these the latest.
func (c *call) mostSpecific() *Error {
	best := c.before
	for _, e := range c.round {
		if best == nil || e.Reason != "" || best.Reason == "" {
			best = e
		}
	}
	return best
}

// failure returns the error of a call that is not retried because of cause.
func (c *call) failure(cause error) error {
	e := *c.mostSpecific()
	e.cause = cause
	return c.withOthers(&e)
}

// finalError returns the error of a call that no other member would serve either.
func (c *call) finalError(e *Error) error {
	if c.opts.oneShot {
		return e
	}
	return c.withOthers(e)
}

// closed returns the error of a call whose client was closed.
func (c *call) closed() error {
	if c.unknown == nil {
		return ErrClosed
	}
	e := *c.unknown
	e.cause = ErrClosed
	return c.withOthers(&e)
}

// givesUp reports whether a one-shot call ends with this round: no member expects to answer in a
// moment, or electionTime has passed.
func (c *call) givesUp() bool {
	return c.opts.oneShot && (time.Since(c.began) > electionTime || !slices.ContainsFunc(c.round, (*Error).fleeting))
}

// withOthers returns a copy of e with the last errors of the other members. If a member's time ran out in this round,
// its error of the previous round takes precedence.
func (c *call) withOthers(e *Error) *Error {
	whole := *e
	named := map[string]bool{e.Member: true}
	said := slices.DeleteFunc(slices.Clone(c.round), (*Error).late)
	for _, other := range slices.Concat(said, c.former, c.round) {
		if !named[other.Member] {
			named[other.Member] = true
			whole.also = append(whole.also, other)
		}
	}
	return &whole
}

// attempt makes one try, or takes the result of the failed try before it.
func (c *call) attempt(ctx context.Context, before *former, limit time.Duration, reply any) (*try, error) {
	t := &try{avoid: c.tried(), standing: c.standing}
	switch {
	case before == nil || before.member == "":
	case before.err != nil:
		t.choose(before.member, true)
		return t, before.err
	default:
		t.avoid = append(t.avoid, before.member)
	}
	return t, c.tryMember(ctx, t, limit, reply)
}

// tryMember makes one tryMember, hedged if the policy says so, at a member that t does not avoid if there is one.
func (c *call) tryMember(ctx context.Context, t *try, limit time.Duration, reply any) error {
	if limit > 0 {
		if deadline, _ := ctx.Deadline(); !c.policy.large {
			limit = min(limit, time.Until(deadline)/2) // leaves time for another member
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if c.policy.hedged && c.opts.hedge < never {
		return c.hedged(ctx, t, reply)
	}
	return c.callMember(ctx, t, reply)
}

// callMember calls one member. It prefers members that t does not avoid.
func (c *call) callMember(ctx context.Context, t *try, reply any) error {
	mine, span := traced(context.WithValue(ctx, tryKey{}, t), c.method)
	if receipt.Carries(reply) {
		mine = c.receipts.Bring(mine)
	}
	began := time.Now()
	err := c.conn.Invoke(mine, c.method, c.req, reply, c.callOpts...)
	member, _ := t.chosen()
	if err != nil && member == "" && c.fallback != nil && mine.Err() == nil && c.life.Err() == nil {
		second := c.fallback.Invoke(mine, c.method, c.req, reply, c.callOpts...)
		if member, _ = t.chosen(); second == nil || member != "" {
			err = second
		}
	}
	took := time.Since(began)
	if err == nil {
		c.receipts.Keep(reply)
	}
	endSpan(span, member, err)
	if c.opts.hooks.Try != nil {
		c.opts.hooks.Try(TryInfo{Method: c.method, Member: member, Took: took, Err: err})
	}
	switch {
	case member == "":
	case err == nil || rpc.FromError(err).Reason != "":
		c.standing.trust(member)
	// A member that hangs also ends the call at the deadline, and that end can arrive before the deadline passes here.
	case (isTimeout(context.Cause(mine)) || status.Code(err) == codes.DeadlineExceeded) && c.policy.suspicious > 0 && took >= c.policy.suspicious:
		c.standing.suspect(member)
	}
	return err
}
