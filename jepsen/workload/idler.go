//go:build linux

package workload

import (
	"context"
	"crypto/rand"
	"time"

	mathrand "math/rand/v2"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// idler holds workers for a second or three, by calls of WorkerService, and issues nothing.
//
// Now and then it does what a holder does whose clock is off, who did not hear an answer, or
// whose request was long on its way: it asks with a time that is past, extends once more from an
// end that is outdated, or after it gave the worker back. All of that has to be refused; the
// audit of the log says so if it was granted.
type idler struct {
	*client
	of     map[*lab.Member]snowraftv1.WorkerServiceClient
	holder string

	layout string
	nonce  []byte
	grant  *snowraftv1.Grant
	id     uint64 // of the last extension
}

// live takes a worker, extends its window some times, and releases or forgets it.
func (c *idler) live(ctx context.Context) {
	for history.Sleep(ctx, within(100*time.Millisecond, 2*time.Second)) {
		c.nonce = make([]byte, 16)
		_, _ = rand.Read(c.nonce) // never fails
		if !c.acquire(ctx) {
			continue
		}
		for range mathrand.IntN(4) {
			before := c.grant
			if !history.Sleep(ctx, within(100*time.Millisecond, 1500*time.Millisecond)) || !c.extend(ctx, c.another(), windowMillis()) {
				break
			}
			if before.GetUntilTick() != c.grant.GetUntilTick() && mathrand.IntN(2) == 0 {
				c.repeat(ctx, before)
			}
		}
		switch mathrand.IntN(4) {
		case 0: // it is forgotten
		case 1, 2:
			if c.release(ctx, c.grant.GetUntilTick()) { // all of it was used
				c.extend(ctx, c.another(), muchMillis)
			}
		default:
			c.release(ctx, c.grant.GetFromTick()) // nothing was issued
		}
	}
}

func (c *idler) acquire(ctx context.Context) bool {
	// The second has a worker to spare.
	now, layout := nowMillis(), anyOf([]string{smallLayout, snowflake.Default().Name()})
	if mathrand.IntN(4) == 0 {
		// Which members believe whose clocks are back by as much, and the cluster must not.
		now -= anyOf(pasts).Milliseconds()
	}
	c.layout = layout
	return c.ask(ctx, history.DoAcquire, func(ctx context.Context, m *lab.Member, opts ...grpc.CallOption) (*snowraftv1.Grant, error) {
		resp, err := c.of[m].AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
			Layout: layout, Holder: c.holder, Nonce: c.nonce, ClockAtMs: now, WindowMs: windowMillis(),
		}, opts...)
		return resp.GetGrant(), err
	})
}

// another draws the ID of another extension.
func (c *idler) another() uint64 { return c.id + 1 + mathrand.Uint64N(1<<32) }

func (c *idler) extend(ctx context.Context, id uint64, window int64) bool {
	c.id = id
	return c.ask(ctx, history.DoExtend, func(ctx context.Context, m *lab.Member, opts ...grpc.CallOption) (*snowraftv1.Grant, error) {
		resp, err := c.of[m].ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{
			Layout: c.layout, Worker: c.grant.GetWorker(), Token: c.grant.GetToken(), Nonce: c.nonce, UntilTick: c.grant.GetUntilTick(),
			ClockAtMs: nowMillis(), WindowMs: window, ExtensionId: id,
		}, opts...)
		return resp.GetGrant(), err
	})
}

// repeat extends from what the window was before the last extension: under its ID as a holder
// that heard no answer, which gets the window as it is, or under another as a copy of the holder.
func (c *idler) repeat(ctx context.Context, before *snowraftv1.Grant) {
	now := c.grant
	c.grant = before
	if !c.extend(ctx, anyOf([]uint64{c.id, c.another()}), muchMillis) {
		c.grant = now
	}
}

func (c *idler) release(ctx context.Context, next int64) bool {
	return c.ask(ctx, history.DoRelease, func(ctx context.Context, m *lab.Member, opts ...grpc.CallOption) (*snowraftv1.Grant, error) {
		_, err := c.of[m].ReleaseWorker(ctx, &snowraftv1.ReleaseWorkerRequest{
			Layout: c.layout, Worker: c.grant.GetWorker(), Token: c.grant.GetToken(), Nonce: c.nonce, UntilTick: c.grant.GetUntilTick(),
			NextTick: next,
		}, opts...)
		return nil, err
	})
}

// ask queries any member, and reports whether it did what was requested. What was granted is
// written down.
func (c *idler) ask(ctx context.Context, do string, f func(ctx context.Context, m *lab.Member, opts ...grpc.CallOption) (*snowraftv1.Grant, error)) bool {
	m, ok := c.w.someone()
	if !ok {
		return false
	}
	_, err := c.call(ctx, m, history.Op{Do: do, Key: c.layout},
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			grant, err := f(ctx, m, opts...)
			if err == nil && grant != nil {
				c.grant = grant
				op.Grant = &history.Lane{
					Layout: c.layout, Worker: grant.GetWorker(), Token: grant.GetToken(), From: grant.GetFromTick(), Until: grant.GetUntilTick(),
				}
			}
			return err
		})
	return err == nil
}

// muchMillis is longer than any window that an idler has: an extension by so much that is granted
// though it should not be shows in its answer.
const muchMillis = 5000

// pasts are how long past the time is that an idler asks with, now and then.
var pasts = []time.Duration{1500 * time.Millisecond, 5 * time.Second}

// nowMillis is this process's clock, in Unix milliseconds.
func nowMillis() int64 { return history.Wall() / int64(time.Millisecond) }

// windowMillis is the length of a requested window, 1 to 3 s.
func windowMillis() int64 { return within(time.Second, 3*time.Second).Milliseconds() }
