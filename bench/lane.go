package main

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"
)

// openLane returns an issuer with one lane that holds a window.
func openLane(ctx context.Context, layout *snowflake.Layout, started *closers) (*allocator.Issuer, error) {
	cfg := allocator.Config{
		Layout: layout, Holder: "bench", Granter: &soleGranter{layout: layout},
		Watch: clock.NewWatch(clock.System(), nil, clock.Limits{WaitThreshold: limits.DefaultThreshold, MaxOffset: limits.DefaultOffset}),
	}
	if _, err := rand.Read(cfg.Nonce[:]); err != nil {
		return nil, err
	}
	issuer, err := allocator.Open(cfg)
	if err != nil {
		return nil, err
	}
	started.add(func() error { return issuer.Close(context.Background()) })
	_, err = issuer.Next(ctx, 0) // waits for the window
	return issuer, err
}

// soleGranter grants worker 0 to one lane, without other holders.
type soleGranter struct {
	layout *snowflake.Layout
	tokens atomic.Uint64
	until  atomic.Int64 // high-water, in ticks
}

func (g *soleGranter) AcquireWorker(_ context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	from := max(g.layout.TickAt(r.NowMillis), g.until.Load())
	return g.grant(from, r.NowMillis, r.Window, g.tokens.Add(1)), nil
}

func (g *soleGranter) ExtendWindow(_ context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	if r.Until != g.until.Load() || r.Token != g.tokens.Load() {
		return allocator.Grant{}, allocator.ErrWindowMismatch
	}
	return g.grant(r.Until, r.NowMillis, r.Window, r.Token), nil
}

func (g *soleGranter) ReleaseWorker(context.Context, allocator.ReleaseRequest) error { return nil }

func (g *soleGranter) grant(from, nowMillis int64, window time.Duration, token uint64) allocator.Grant {
	until := max(from+1, g.layout.TickAt(nowMillis+window.Milliseconds()-1)+1)
	g.until.Store(until)
	return allocator.Grant{Token: token, From: from, Until: until, ObservedMillis: nowMillis}
}
