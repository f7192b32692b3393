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

// callTimeout bounds a client's wait for an answer.
const callTimeout = 2 * time.Second

// client is a client of a workload. It may have several operations in progress.
type client struct {
	w        *World
	workload string
	number   uint32
}

func (w *World) client(workload string) *client {
	return &client{w: w, workload: workload, number: w.NextClient()}
}

// call makes one gRPC operation at a member and records it. do makes the request and
// completes the operation with the answer before call records it.
func (c *client) call(ctx context.Context, m *lab.Member, op history.Op, do func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error) (history.Op, error) {
	return c.within(ctx, callTimeout, m, op, do)
}

// within is call with another timeout.
func (c *client) within(ctx context.Context, limit time.Duration, m *lab.Member, op history.Op, do func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error) (history.Op, error) {
	// The end of the load cancels no call: each gets an outcome or a timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	op.ID, op.Workload, op.Client, op.Member = c.w.NextOp(), c.workload, c.number, m.Name
	var p peer.Peer
	op.Call = history.Now()
	err := do(ctx, &op, grpc.Peer(&p))
	if op.Return == 0 {
		op.Return = history.Now()
	}
	if op.Do != history.DoBlock { // the caller issues the numbers of a block, not the member
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

// through makes one operation through the product's own client and records it. The outcome
// of an error is unknown: the client may have called several members, and an earlier one
// may have done the operation.
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

// outcome returns the known outcome of a call that failed with err. A call is known to have
// done nothing if a member's reason says so or the request was never sent.
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
