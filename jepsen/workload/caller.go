//go:build linux

package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Caller is a client for single calls from outside of workloads. Each call goes to one member
// and is recorded like a workload's. Its methods may be called from any goroutine.
type Caller struct {
	numbers   numberer
	ids       *stubs[snowraftv1.IdServiceClient]
	sequences *stubs[snowraftv1.SequenceServiceClient]
}

// Caller returns a new client; name is the workload in its operations.
func (w *World) Caller(name string) (*Caller, error) {
	ids, err := connect(w, snowraftv1.NewIdServiceClient)
	if err != nil {
		return nil, err
	}
	sequences, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		ids.close()
		return nil, err
	}
	return &Caller{numbers: numberer{client: w.client(name), of: sequences.of}, ids: ids, sequences: sequences}, nil
}

// Close closes the client's connections.
func (c *Caller) Close() {
	c.ids.close()
	c.sequences.close()
}

// IDs requests IDs of a layout from a member: of the default layout if layout is empty, and
// greater than after unless after is 0.
func (c *Caller) IDs(ctx context.Context, m *lab.Member, layout string, count uint32, after uint64) (history.Op, []history.Issued) {
	if layout == "" {
		layout = snowflake.Default().Name()
	}
	out, err := c.numbers.w.IDs(layout)
	if err != nil {
		return history.Op{Outcome: history.Fail, Error: err.Error()}, nil
	}
	return idClient{client: c.numbers.client, layout: layout, out: out}.request(ctx, m, c.ids.of[m], count, after, 0)
}

// Next requests numbers from a member. A request with an ID may be repeated.
func (c *Caller) Next(ctx context.Context, m *lab.Member, key string, count uint32, id string) history.Op {
	return c.numbers.next(ctx, m, key, count, id)
}

// Last requests the last issued number from a member; the operation has it in First.
func (c *Caller) Last(ctx context.Context, m *lab.Member, key string) history.Op {
	return c.numbers.read(ctx, m, key)
}

// Block requests a block of numbers from a member and returns no number of the block.
func (c *Caller) Block(ctx context.Context, m *lab.Member, key string, count uint32) history.Op {
	op, _ := c.numbers.call(ctx, m, history.Op{Do: history.DoBlock, Key: key, Count: count},
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.sequences.of[m].AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: key, Count: uint64(count)}, opts...)
			if b := resp.GetBlock(); err == nil {
				op.First, op.Count, op.Increment = b.GetFirst(), uint32(b.GetCount()), b.GetIncrement()
			}
			return err
		})
	return op
}

// Load requests IDs from a member, and numbers of a sequence unless key is empty, one request
// at a time until ctx is done.
func (c *Caller) Load(ctx context.Context, m *lab.Member, layout, key string, most uint32) {
	for ctx.Err() == nil {
		refused := false
		if key != "" {
			refused = c.Next(ctx, m, key, 1+rand.Uint32N(5), "").Outcome != history.OK
		}
		op, _ := c.IDs(ctx, m, layout, 1+rand.Uint32N(most), 0)
		if refused || op.Outcome != history.OK {
			history.Sleep(ctx, afterRefusal)
		}
	}
}

// afterRefusal is the pause of [Caller.Load] after a failed request.
const afterRefusal = 20 * time.Millisecond
