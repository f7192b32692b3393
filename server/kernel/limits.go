package kernel

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// spend returns an error unless the call was admitted with a right and the rate of its caller allows count numbers. Call finish
// after that.
func spend(a *trust.Admission, right, resource string, count uint64) error {
	if !a.Covers(right, resource) {
		return rpc.NewError(rpc.Internal, fmt.Sprintf("nothing has admitted a call with the right %s", right))
	}
	return a.Principal().Spend(count)
}

// finish returns the error of a request that may have waited: err, or that of a caller that has lost its right meanwhile. It
// counts a failed request and refunds its numbers.
func (k *Kernel) finish(a *trust.Admission, count uint64, err error) error {
	if err == nil {
		err = a.Still()
	}
	if err != nil {
		k.failed.Add(1)
		a.Principal().Refund(count)
	}
	return err
}

// WithinRate serves a call within the rate of its caller. A call that may write to the log or that decodes a text costs one number, also if it is refused. A
// batch of a backfill costs its rows, and a block its numbers, which are spent before it is granted: calls in flight together stay within the rate.
func WithinRate(p *trust.Principal, rule *rpc.Rule, req proto.Message, serve func() (any, error)) (any, error) {
	if !rule.GetChanges() && rule.GetRight() != trust.RightDecodeText {
		return serve()
	}
	spent := uint64(1)
	rows, _ := req.(*snowraftv1.BackfillIdsRequest)
	if n := uint64(len(rows.GetTimesMs())); n > 0 {
		if most := p.Burst(); n > most {
			return nil, wire.Invalid(fmt.Sprintf("batch of %d rows: the rate of the token allows at most %d at once", n, most))
		}
		spent = n
	}
	if block, ok := req.(*snowraftv1.AllocateBlockRequest); ok {
		if most := p.Burst(); block.GetCount() > most {
			if block.GetRequestId() != "" {
				return nil, wire.Invalid(fmt.Sprintf("block of %d numbers: the rate of the token allows at most %d at once", block.GetCount(), most))
			}
			block.Count = most
		}
		spent = max(spent, block.GetCount())
	}
	if err := p.Spend(spent); err != nil {
		return nil, err
	}
	used := uint64(1)
	defer func() { p.Refund(spent - used) }()
	reply, err := serve()
	if err != nil {
		return nil, err
	}
	if _, ok := reply.(*snowraftv1.BackfillIdsResponse); ok {
		used = spent
	}
	if block, ok := reply.(*snowraftv1.AllocateBlockResponse); ok {
		used = min(spent, max(used, block.GetBlock().GetCount()))
	}
	return reply, nil
}

// Bounded returns the context of a call that waits. Without a deadline of its own, the call gets limits.CallTimeout.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limits.CallTimeout)
}

// Bounds reports whether the Kernel bounds the calls of a method. Most of them do not wait, and a timer would be a large part of
// their cost.
func Bounds(rule *rpc.Rule) bool {
	return rule != nil && (rule.GetRight() == trust.RightIssueIDs || rule.GetWhere() == snowraftv1.MethodRule_WHERE_BY_MODE)
}
