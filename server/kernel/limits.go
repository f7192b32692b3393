package kernel

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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
