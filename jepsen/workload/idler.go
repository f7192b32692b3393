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

// idler holds workers for a few seconds by calls of WorkerService, and issues no IDs.
//
// Sometimes it acts like a holder whose clock is behind, that missed an answer, or whose request
// was delayed: it sends a past time, extends again from an outdated end, or extends after it has
// released the worker. The cluster must reject such requests; the audit of the log reports a
// violation if the cluster granted one.
type idler struct {
	*client
	of     map[*lab.Member]snowraftv1.WorkerServiceClient
	holder string

	layout string
	nonce  []byte
	grant  *snowraftv1.Grant
	id     uint64 // ID of the last extension
}

// live repeatedly acquires a worker, extends its window up to 3 times, and releases or abandons the worker.
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
		case 0: // abandons the worker
		case 1, 2:
			if c.release(ctx, c.grant.GetUntilTick()) { // the whole window was used
				c.extend(ctx, c.another(), muchMillis)
			}
		default:
			c.release(ctx, c.grant.GetFromTick()) // nothing was issued
		}
	}
}

func (c *idler) acquire(ctx context.Context) bool {
	// The default layout always has a free worker.
	now, layout := nowMillis(), anyOf([]string{smallLayout, snowflake.Default().Name()})
	if mathrand.IntN(4) == 0 {
		// Members whose clocks are behind by as much accept this time; the cluster must not.
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

// another returns a random ID for another extension.
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

// repeat extends from the window before the last extension. With the same ID it acts like a
// holder that missed the answer, which gets the present window. With another ID it acts like a
// copy of the holder.
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

// ask calls a random member and reports whether the call succeeded. It keeps and records the
// grant of the answer.
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

// muchMillis exceeds the requested length of any other window, so a wrong grant of such an
// extension is visible in the answer.
const muchMillis = 5000

// pasts lists the lags of the past times that an idler sometimes sends.
var pasts = []time.Duration{1500 * time.Millisecond, 5 * time.Second}

// nowMillis returns this process's clock in Unix milliseconds.
func nowMillis() int64 { return history.Wall() / int64(time.Millisecond) }

// windowMillis returns a random length of a requested window, 1 to 3 s, in milliseconds.
func windowMillis() int64 { return within(time.Second, 3*time.Second).Milliseconds() }
