package load

import (
	"context"

	"github.com/snowraft/snowraft/client"
)

// Coalesced requests IDs through the Go client, which combines concurrent requests
// in one call. The client's timeout bounds a call.
type Coalesced struct {
	IDs   *client.IDs
	Count int // at least 1
}

// Call implements Caller.
func (c *Coalesced) Call(ctx context.Context, got *Receipt) error {
	if c.Count == 1 {
		return one(ctx, got, c.IDs.Next)
	}
	ranges, err := c.IDs.Ranges(ctx, c.Count)
	return got.ranges(ranges, c.Count, err)
}

// CoalescedNumbers requests numbers of a sequence through the Go client, as Coalesced requests IDs.
type CoalescedNumbers struct {
	Sequence *client.Sequence
	Count    int // at least 1
}

// Call implements Caller.
func (c *CoalescedNumbers) Call(ctx context.Context, got *Receipt) error {
	if c.Count == 1 {
		return one(ctx, got, c.Sequence.Next)
	}
	numbers, err := c.Sequence.Take(ctx, c.Count)
	if err != nil {
		return refusal(err)
	}
	return got.run(numbers.First, uint64(numbers.Count), numbers.Increment, uint64(c.Count)) //nolint:gosec // both are at least 1
}

// one records the number that next returns.
func one(ctx context.Context, got *Receipt, next func(context.Context) (int64, error)) error {
	id, err := next(ctx)
	if err != nil {
		return refusal(err)
	}
	got.Number(uint64(id)) //nolint:gosec // the same bits
	return nil
}

// ranges records the answer to a call that requested count IDs.
func (r *Receipt) ranges(ranges []client.Range, count int, err error) error {
	if err != nil {
		return refusal(err)
	}
	before := r.numbers
	for _, of := range ranges {
		r.Range(uint64(of.First), uint64(of.Count), uint64(of.Step)) //nolint:gosec // never negative
	}
	return expected(r.numbers-before, uint64(count)) //nolint:gosec // at least 1
}
