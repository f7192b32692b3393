package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// tenantLayout is a layout with enough workers for the largest number of holders.
	tenantLayout = "tenants"
	tenantWindow = 10 * time.Minute
	// tenantFor is the time for which the load of full windows is measured.
	tenantFor = 20 * time.Second
)

// scaleLoad measures the calls of many embedded generators, on few connections.
func scaleLoad() section {
	return section{name: "scale-load", title: "Holders, as real load", page: scalePage, long: true, measure: func(ctx context.Context, e *env) (*table, error) {
		g := &growth{columns: []string{"embedded generators on three members", "10,000", "100,000"}}
		for _, holders := range []int{10_000, 100_000} {
			if err := e.measureTenants(ctx, g, holders); err != nil {
				return nil, err
			}
			if err := g.addState(largeCommands(holders, 0)); err != nil {
				return nil, err
			}
		}
		return g.table(fmt.Sprintf("One run, with extensions for %s. Start times are medians of three starts", inSeconds(tenantFor))), nil
	}}
}

func (e *env) measureTenants(ctx context.Context, g *growth, holders int) (err error) {
	var started closers
	defer started.close(&err)
	members, err := e.startCluster(ctx, 3, &started)
	if err != nil {
		return err
	}
	if members, err = leaderFirst(ctx, members); err != nil {
		return err
	}
	leader, follower := members[0], members[1]
	if err := leader.layout(ctx, tenantLayout, 41, 17, 5); err != nil {
		return err
	}
	c := &tenants{grants: make([]*snowraftv1.Grant, holders)}
	if _, err := rand.Read(c.nonce[:]); err != nil {
		return err
	}

	before, err := leader.metrics(ctx)
	if err != nil {
		return err
	}
	took, err := c.acquireAll(ctx, leader)
	if err != nil {
		return err
	}
	after, err := leader.metrics(ctx)
	if err != nil {
		return err
	}
	g.add("commands per second while all generators acquire a worker", float64(holders)/took.Seconds(), amount)
	g.add("processor time of the leader per such command", 1e9*(after[cpuSeconds]-before[cpuSeconds])/float64(holders), nanoseconds)

	rate := float64(holders) / (0.525 * tenantWindow.Seconds())
	if err := c.extendAt(ctx, g, leader, follower, rate); err != nil {
		return err
	}
	log, snapshot, err := leader.onDisk()
	if err != nil {
		return err
	}
	g.add("size of the leader's log on disk", log, megabytes)
	if snapshot > 0 {
		g.add("size of the leader's newest snapshot on disk", snapshot, megabytes)
	}
	return g.addStart(ctx, e, follower, &started)
}

// tenants is a group of many holders of workers in one process.
type tenants struct {
	nonce  [16]byte
	grants []*snowraftv1.Grant
	next   atomic.Int64
	// granted is the number of answered calls for a worker.
	granted atomic.Int64
}

// acquireAll acquires a worker for each holder, as fast as a few hundred callers can.
func (c *tenants) acquireAll(ctx context.Context, leader *member) (took time.Duration, err error) {
	var started closers
	defer started.close(&err)
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	callers, err := overOne(leader.api, 256, &started, func(conn *grpc.ClientConn) load.Caller {
		workers := snowraftv1.NewWorkerServiceClient(conn)
		return load.CallerFunc(func(ctx context.Context, _ *load.Receipt) error {
			i := int(c.next.Add(1)) - 1
			if i >= len(c.grants) {
				<-ctx.Done()
				return nil
			}
			resp, err := workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
				Layout: tenantLayout, Holder: fmt.Sprint("app-", i), Nonce: c.nonce[:],
				ClockAtMs: wall().UnixMilli(), WindowMs: tenantWindow.Milliseconds(),
			})
			if c.grants[i] = resp.GetGrant(); c.granted.Add(1) == int64(len(c.grants)) || err != nil {
				cancel()
			}
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	elapsed := stopwatch()
	r := load.Run(run, load.Plan{Callers: callers, Duration: time.Hour})
	if took = elapsed(); ctx.Err() != nil {
		return took, ctx.Err()
	}
	for i, grant := range c.grants {
		if grant == nil {
			return took, fmt.Errorf("holder %d has no worker: %v", i, r.Failures)
		}
	}
	return took, nil
}

// extendAt extends the windows of one holder after the other, at a rate per second, and adds the cost to g.
func (c *tenants) extendAt(ctx context.Context, g *growth, leader, follower *member, rate float64) (err error) {
	var started closers
	defer started.close(&err)
	c.next.Store(0)
	callers, err := overOne(leader.api, 64, &started, func(conn *grpc.ClientConn) load.Caller {
		workers := snowraftv1.NewWorkerServiceClient(conn)
		return load.CallerFunc(func(ctx context.Context, _ *load.Receipt) error {
			i := int(c.next.Add(1)-1) % len(c.grants)
			var id [8]byte
			_, _ = rand.Read(id[:]) // never fails
			_, err := workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{
				Layout: tenantLayout, Worker: c.grants[i].GetWorker(), Token: c.grants[i].GetToken(), Nonce: c.nonce[:],
				UntilTick: c.grants[i].GetUntilTick(), ClockAtMs: wall().UnixMilli(), WindowMs: tenantWindow.Milliseconds(),
				ExtensionId: binary.BigEndian.Uint64(id[:]) | 1,
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	before, after := make([]map[string]float64, 2), make([]map[string]float64, 2)
	for i, m := range []*member{leader, follower} {
		if before[i], err = m.metrics(ctx); err != nil {
			return err
		}
	}
	r := load.Run(ctx, load.Plan{Callers: callers, Duration: tenantFor, Rate: rate})
	if len(r.Failures) > 0 {
		return fmt.Errorf("%d extensions failed: %s", r.Failed(), r.Failures[0].Example)
	}
	for i, m := range []*member{leader, follower} {
		if after[i], err = m.metrics(ctx); err != nil {
			return err
		}
	}
	core := func(i int) float64 { return 100 * (after[i][cpuSeconds] - before[i][cpuSeconds]) / r.Elapsed.Seconds() }
	g.add("extensions per second with windows of full length", rate, digitsOf(2))
	g.add("p50 of these extensions", float64(r.Percentile(50)), nanoseconds)
	g.add("p99 of these extensions", float64(r.Percentile(99)), nanoseconds)
	g.add("processor use of the leader during these extensions, share of a core", core(0), with(" %", digitsOf(2)))
	g.add("processor use of a follower during these extensions, share of a core", core(1), with(" %", digitsOf(2)))
	g.add("resident memory of the leader", after[0][resident], megabytes)
	return nil
}

// digitsOf returns [digits] with n digits as a format.
func digitsOf(n int) format { return func(x float64) string { return digits(x, n) } }
