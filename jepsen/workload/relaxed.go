//go:build linux

package workload

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// relaxed takes numbers of relaxed sequences from members, from blocks of the product's
// client, and from blocks that it allocates itself.
func relaxed() Workload {
	return Workload{
		Name:    "relaxed",
		About:   "numbers of relaxed sequences: from members, from the client's blocks, and from AllocateBlock",
		Prepare: prepareRelaxed,
		Run:     runRelaxed,
	}
}

var relaxedKeys = []string{"relaxed-1", "relaxed-2", "relaxed-7", "relaxed-down", "relaxed-small"}

func prepareRelaxed(ctx context.Context, w *World) error {
	start, increment, down := int64(1000), int64(7), int64(-3)
	const mode = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
	return w.Create(ctx,
		&snowraftv1.Sequence{Name: "relaxed-1", Mode: mode},
		&snowraftv1.Sequence{Name: "relaxed-2", Mode: mode, BlockDurationMs: 500},
		&snowraftv1.Sequence{Name: "relaxed-7", Mode: mode, Start: &start, Increment: &increment},
		&snowraftv1.Sequence{Name: "relaxed-down", Mode: mode, Increment: &down},
		// Blocks this small are requested all the time.
		&snowraftv1.Sequence{Name: "relaxed-small", Mode: mode, MinBlock: 5, MaxBlock: 20})
}

func runRelaxed(ctx context.Context, w *World) error {
	s, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	own, err := w.product()
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck // nothing is in progress
	var wg sync.WaitGroup
	for _, m := range w.Lab.Members {
		c := numberer{client: w.client("relaxed"), of: s.of}
		wg.Go(func() {
			pace(ctx, w.Rate*0.6/float64(len(w.Lab.Members)), func(ctx context.Context) {
				if w.asked(m) {
					c.next(ctx, m, anyOf(relaxedKeys), several(mostNumbers), "")
				}
			})
		})
	}
	failed := make(chan error, len(relaxedKeys))
	for _, key := range relaxedKeys {
		c := w.client("relaxed")
		wg.Go(func() { failed <- c.embed(ctx, own, key, w.Rate*0.3/float64(len(relaxedKeys))) })
	}
	var requests atomic.Uint64
	c := numberer{client: w.client("relaxed"), of: s.of}
	wg.Go(func() {
		pace(ctx, w.Rate*0.1, func(ctx context.Context) {
			id := ""
			if rand.IntN(4) == 0 {
				id = fmt.Sprintf("b-%d", requests.Add(1))
			}
			c.block(ctx, anyOf(relaxedKeys), id)
		})
	})
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// embed issues numbers from blocks of the product's client, as a program does that issues
// its own numbers. Every 4 to 15 s it returns the unused numbers and starts again.
func (c *client) embed(ctx context.Context, own *product.Client, key string, rate float64) error {
	for ctx.Err() == nil {
		blocks, err := product.NewBlocks(own, key, product.WithBlocksFirstSize(20))
		if err != nil {
			return err
		}
		life, end := context.WithTimeout(ctx, within(4*time.Second, 15*time.Second))
		pace(life, rate, func(ctx context.Context) {
			count := several(20)
			_, _ = c.through(ctx, history.Op{Do: history.DoNext, Key: key, Count: count}, // recorded
				func(ctx context.Context, op *history.Op) error {
					got, err := blocks.Take(ctx, int(count))
					if err == nil {
						op.First, op.Count, op.Increment = got.First, uint32(got.Count), got.Increment
					}
					return err
				})
		})
		end()
		c.end(ctx, key, blocks)
	}
	return nil
}

// end closes blocks; numbers that cannot be returned stay unused.
func (c *client) end(ctx context.Context, key string, blocks *product.Blocks) {
	_, _ = c.through(ctx, history.Op{Do: history.DoReturn, Key: key}, // recorded
		func(ctx context.Context, _ *history.Op) error { return blocks.Close(ctx) })
}

// block requests a block. With an ID, it repeats a failed request up to mostTries times.
// Without an ID, it may return the end of the block: then the operation has only the kept
// beginning, because other callers get the end.
func (c numberer) block(ctx context.Context, key, id string) {
	count := 10 + rand.Uint32N(90)
	var secret []byte // return key of this block
	if id == "" {
		secret = make([]byte, 16)
		_, _ = cryptorand.Read(secret) // never fails
	}
	var granted *snowraftv1.Block
	var unused uint32
	var op history.Op
	var m *lab.Member
	for range mostTries {
		var ok bool
		if m, ok = c.w.someone(); !ok {
			return
		}
		op, _ = c.call(ctx, m, history.Op{Do: history.DoBlock, Key: key, Count: count, RequestID: id},
			func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
				resp, err := c.of[m].AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: key, Count: uint64(count), RequestId: id, ReturnKey: secret}, opts...)
				if err != nil {
					return err
				}
				granted = resp.GetBlock()
				all := uint32(granted.GetCount())
				if id == "" && rand.IntN(2) == 0 {
					unused = rand.Uint32N(all)
				}
				op.First, op.Count, op.Increment = granted.GetFirst(), all-unused, granted.GetIncrement()
				return nil
			})
		if op.Outcome == history.OK || id == "" || !history.Sleep(ctx, within(50*time.Millisecond, 500*time.Millisecond)) {
			break
		}
	}
	if op.Outcome != history.OK || unused == 0 {
		return
	}
	_, _ = c.call(ctx, m, history.Op{Do: history.DoReturn, Key: key, Count: unused}, // recorded
		func(ctx context.Context, _ *history.Op, opts ...grpc.CallOption) error {
			_, err := c.of[m].ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: key, Token: granted.GetToken(), Unused: uint64(unused), ReturnKey: secret}, opts...)
			return err
		})
}
