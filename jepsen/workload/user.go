//go:build linux

package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"github.com/snowraft/snowraft/jepsen/history"

	product "github.com/snowraft/snowraft/client"
)

// user takes IDs from an embedded generator with one lane, and records them.
type user struct {
	own    *product.Generator
	ids    *history.Writer
	like   history.Op          // common fields of all operations
	number func() uint64       // returns the ID of the next operation
	write  func(op history.Op) // records an operation

	last atomic.Uint64 // a recent ID
}

// ask takes one or many IDs, with or without a floor.
func (u *user) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	op := u.like
	op.ID, op.Count = u.number(), several(mostOnce)
	if op.Count == 1 && rand.IntN(4) == 0 {
		op.After = u.last.Load()
	}
	op.Call = history.Now()
	ranges, err := issue(ctx, u.own, &op)
	op.Return = history.Now()
	op.Outcome, op.Reason = generatorOutcome(err)
	if err != nil {
		op.Error = err.Error()
	}
	if highest := keep(u.ids, op, ranges); highest > 0 {
		u.last.Store(highest)
	}
	u.write(op)
}

// issue takes the IDs of an operation. With one lane, each ID is greater than those of earlier calls.
func issue(ctx context.Context, own *product.Generator, op *history.Op) ([]product.Range, error) {
	if op.Count > 1 {
		return own.Ranges(ctx, int(op.Count))
	}
	id, err := own.NextAfter(ctx, int64(op.After))
	if err != nil {
		return nil, err
	}
	return []product.Range{{First: id, Step: 1, Count: 1}}, nil
}

// keep writes IDs to a file and returns the greatest, 0 if there are none.
func keep(to *history.Writer, op history.Op, ranges []product.Range) uint64 {
	var highest uint64
	for _, r := range ranges {
		i := history.Issued{
			First: uint64(r.First), Step: uint64(r.Step), Count: uint32(r.Count), Op: op.ID, Call: op.Call, Return: op.Return,
			Start: op.Start, Session: op.Session, Client: op.Client,
		}
		to.Add(i)
		highest = max(highest, i.Last())
	}
	return highest
}

// generatorOutcome returns the outcome of a call of a generator. A failed call has issued no
// ID and never will.
func generatorOutcome(err error) (o history.Outcome, reason string) {
	if err == nil {
		return history.OK, ""
	}
	return history.Fail, productReason(err)
}

// productReason returns the reason of a failed call of the product's client.
func productReason(err error) string {
	if e, ok := errors.AsType[*product.Error](err); ok && e.Reason != "" {
		return e.Reason
	}
	if errors.Is(err, product.ErrClosed) {
		return "CLOSED"
	}
	_, reason := outcome(err, true)
	return reason
}
