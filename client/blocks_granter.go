package client

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// clientClosed is the reason for ErrClosed within this package; no member has it.
const clientClosed = "CLIENT_CLOSED"

// withReasons is a connection whose errors package rpc understands.
type withReasons struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (c withReasons) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	err := c.ClientConnInterface.Invoke(ctx, method, req, reply, opts...)
	if errors.Is(err, ErrClosed) {
		return &rpc.Error{Code: codes.Canceled, Reason: clientClosed, Message: err.Error()}
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	message := e.message
	if e.Member != "" {
		message = e.Member + ": " + message
	}
	return &rpc.Error{Code: e.code, Reason: e.Reason, Message: message, RetryAfter: e.RetryAfter}
}

// blockGranter asks members for blocks.
type blockGranter struct {
	rpc.Granter
	greatest atomic.Uint64 // token
}

func newBlockGranter(members snowraftv1.SequenceServiceClient) *blockGranter {
	return &blockGranter{Granter: rpc.Granter{Sequences: members}}
}

// AllocateBlock implements allocator.BlockGranter.
func (g *blockGranter) AllocateBlock(ctx context.Context, sequence string, count uint64) (allocator.Block, error) {
	b, err := g.Granter.AllocateBlock(ctx, sequence, count)
	if err == nil {
		g.greatest.Store(max(g.greatest.Load(), b.Token)) // blocks are asked for one after another
	}
	return b, err
}

// blocksError makes of an allocator's error one that callers of this package know.
func blocksError(err error) error {
	if errors.Is(err, allocator.ErrClosed) || errors.Is(err, ErrClosed) {
		return ErrClosed
	}
	e := &Error{code: codes.Internal, message: err.Error()}
	var skew *clock.SkewError
	var behind *clock.BehindError
	var from *rpc.Error
	switch {
	case errors.As(err, &from) && from.Reason == clientClosed:
		return ErrClosed
	case from != nil:
		e.Reason, e.RetryAfter, e.code = from.Reason, from.RetryAfter, from.Code
	case errors.Is(err, allocator.ErrOutdatedBlock):
		e.Reason, e.code = rpc.SequenceChanged, codes.Aborted
	case errors.As(err, &skew):
		e.Reason, e.code = rpc.ClockSkew, codes.Unavailable
	case errors.As(err, &behind):
		e.Reason, e.code = rpc.ClockBehind, codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded):
		e.cause, e.code = context.DeadlineExceeded, codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		e.cause, e.code = context.Canceled, codes.Canceled
	}
	return e
}
