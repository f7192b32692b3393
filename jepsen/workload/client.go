//go:build linux

package workload

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// callTimeout is the time that a client waits for an answer.
const callTimeout = 2 * time.Second

// client is one of a workload's clients, which may have several operations in progress.
type client struct {
	w        *World
	workload string
	number   uint32
}

func (w *World) client(workload string) *client {
	return &client{w: w, workload: workload, number: w.NextClient()}
}

// call makes one operation of a member over gRPC and writes it down. do makes the request
// and completes the operation with what was answered, before it is written.
func (c *client) call(ctx context.Context, m *lab.Member, op history.Op, do func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error) (history.Op, error) {
	return c.within(ctx, callTimeout, m, op, do)
}

// within is call with another limit.
func (c *client) within(ctx context.Context, limit time.Duration, m *lab.Member, op history.Op, do func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error) (history.Op, error) {
	// The end of the load breaks off no call: each has its outcome, or a timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	op.ID, op.Workload, op.Client, op.Member = c.w.NextOp(), c.workload, c.number, m.Name
	var p peer.Peer
	op.Call = history.Now()
	err := do(ctx, &op, grpc.Peer(&p))
	if op.Return == 0 {
		op.Return = history.Now()
	}
	if op.Do != history.DoBlock { // whose numbers the caller issues, and not the member
		op.Start = c.w.Lab.StartOf(p.LocalAddr, p.Addr)
	}
	op.Outcome = history.OK
	if err != nil {
		op.Outcome, op.Reason = outcome(err, p.LocalAddr != nil)
		op.Error = err.Error()
	}
	c.w.Journal.Add(history.Line{Op: &op})
	return op, err
}

// through makes one operation through the product's own client and writes it down. As it
// may have asked several members, an error leaves open what an earlier one did.
func (c *client) through(ctx context.Context, op history.Op, do func(ctx context.Context, op *history.Op) error) (history.Op, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	op.ID, op.Workload, op.Client = c.w.NextOp(), c.workload, c.number
	op.Call = history.Now()
	err := do(ctx, &op)
	op.Return = history.Now()
	op.Outcome = history.OK
	if err != nil {
		op.Outcome, op.Reason, op.Error = history.Info, productReason(err), err.Error()
	}
	c.w.Journal.Add(history.Line{Op: &op})
	return op, err
}

// notSent is the reason of a request that never reached a connection.
const notSent = "NOT_SENT"

// outcome says what is known of a call that failed with err. Only a member's reason that
// says so, and a request that was never sent, are known to have done nothing.
func outcome(err error, sent bool) (o history.Outcome, reason string) {
	s, _ := status.FromError(err)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			reason = info.GetReason()
		}
	}
	switch {
	case reason == "COMMIT_UNKNOWN", reason == "INTERNAL":
		return history.Info, reason
	case reason != "":
		return history.Fail, reason
	case !sent && s.Code() == codes.Unavailable:
		return history.Fail, notSent
	case errors.Is(err, context.DeadlineExceeded), s.Code() == codes.DeadlineExceeded:
		return history.Info, "DEADLINE"
	default:
		return history.Info, s.Code().String()
	}
}
