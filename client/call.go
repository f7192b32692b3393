package client

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
)

// call is one call over all its tries.
type call struct {
	*caller
	method   string
	req      any
	callOpts []grpc.CallOption
	policy   policy
	told     *told
	round    []*Error // of the tries of this round, in which each member is asked once
	former   []*Error // of the round before
	before   *Error   // the most specific one of all rounds before
	began    time.Time
}

func newCall(ctx context.Context, c *caller, method string, req any, opts []grpc.CallOption) *call {
	call := &call{caller: c, method: method, req: req, callOpts: opts, policy: policyOf(method, req), began: time.Now()}
	call.told, _ = ctx.Value(toldKey{}).(*told)
	if c.opts.oneShot { // whose connections divide the time
		call.policy.patience, call.policy.hedged = 0, false
	}
	return call
}

func (c *call) note(e *Error) {
	e.nth = len(c.round)
	c.round = append(c.round, e)
	if c.told != nil {
		c.told.Store(c.most())
	}
}

// tried are the members that were asked in this round.
func (c *call) tried() (members []string) {
	for _, e := range c.round {
		if e.Member != "" {
			members = append(members, e.Member)
		}
	}
	return members
}

func (c *call) nextRound() { c.before, c.former, c.round = c.most(), c.round, nil }

// most is the most specific error: a member's reason rather than none, and the later one.
func (c *call) most() *Error {
	best := c.before
	for _, e := range c.round {
		if best == nil || e.Reason != "" || best.Reason == "" {
			best = e
		}
	}
	return best
}

// failure is the error of a call that is tried no more, because of cause.
func (c *call) failure(cause error) error {
	e := *c.most()
	e.cause = cause
	return c.alone(&e)
}

// settled is the error of a call that no other member would serve either.
func (c *call) settled(e *Error) error {
	if c.opts.oneShot {
		return e
	}
	return c.alone(e)
}

// hopeless reports whether a one-shot call ends with this round: no member expects to answer in a
// moment, or the moment has passed.
func (c *call) hopeless() bool {
	return c.opts.oneShot && (time.Since(c.began) > electionTime || !slices.ContainsFunc(c.round, (*Error).fleeting))
}

// alone is an error with what other members said last. The end of a member's time says less than
// its answer in the round before.
func (c *call) alone(e *Error) *Error {
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

// attempt tries once, unless a try was made before.
func (c *call) attempt(ctx context.Context, before *former, patience time.Duration, reply any) (*try, error) {
	t := &try{avoid: c.tried(), standing: c.standing}
	switch {
	case before == nil || before.member == "":
	case before.err != nil:
		t.choose(before.member, true)
		return t, before.err
	default:
		t.avoid = append(t.avoid, before.member)
	}
	return t, c.try(ctx, t, patience, reply)
}

// try tries once, at a member that t would have.
func (c *call) try(ctx context.Context, t *try, patience time.Duration, reply any) error {
	if patience > 0 {
		if deadline, _ := ctx.Deadline(); !c.policy.large {
			patience = min(patience, time.Until(deadline)/2) // so that time is left for another member
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if c.policy.hedged && c.opts.hedge < never {
		return c.hedged(ctx, t, reply)
	}
	return c.ask(ctx, t, reply)
}

// ask asks a member that t would have.
func (c *call) ask(ctx context.Context, t *try, reply any) error {
	mine, span := traced(context.WithValue(ctx, tryKey{}, t), c.method)
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
	endSpan(span, member, err)
	if c.opts.hooks.Try != nil {
		c.opts.hooks.Try(TryInfo{Method: c.method, Member: member, Took: took, Err: err})
	}
	switch {
	case member == "":
	case err == nil || rpc.FromError(err).Reason != "":
		c.standing.trust(member)
	// A member that hangs ends the call at its deadline too, and its end can arrive before the deadline here.
	case (isTimeout(context.Cause(mine)) || status.Code(err) == codes.DeadlineExceeded) && c.policy.suspicious > 0 && took >= c.policy.suspicious:
		c.standing.suspect(member)
	}
	return err
}
