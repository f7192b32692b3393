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

// Caller is a client whose calls somebody else makes one by one. Each goes to one member and is
// written down, as those of workloads are. Its methods may be called from any goroutine.
type Caller struct {
	numbers   numberer
	ids       *stubs[snowraftv1.IdServiceClient]
	sequences *stubs[snowraftv1.SequenceServiceClient]
}

// Caller makes a client; name is what its operations say is their workload.
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

// Close closes its connections.
func (c *Caller) Close() {
	c.ids.close()
	c.sequences.close()
}

// IDs asks a member for IDs of a layout, the default one if it is empty, above a floor unless
// that is 0.
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

// Next asks a member for numbers; with an ID the request may be repeated.
func (c *Caller) Next(ctx context.Context, m *lab.Member, key string, count uint32, id string) history.Op {
	return c.numbers.next(ctx, m, key, count, id)
}

// Last asks a member for the last number that was issued; it is in First.
func (c *Caller) Last(ctx context.Context, m *lab.Member, key string) history.Op {
	return c.numbers.read(ctx, m, key)
}

// Block asks a member for a block of numbers, and gives nothing of it back.
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

// Load asks a member for IDs, and for numbers of a sequence unless key is empty, one request
// after the other until ctx ends.
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

// afterRefusal is the time that [Caller.Load] waits after a request that was not answered well.
const afterRefusal = 20 * time.Millisecond
