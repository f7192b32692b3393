package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// idRate and relaxedNumberRate are the rates of requests while leaders change, per second.
	idRate, relaxedNumberRate = 5000, 2000
	// probePause is the pause between two calls of a probe.
	probePause = 2 * time.Millisecond
	// observed is the time for which the probes continue after a change of the leader.
	observed = time.Second
	// raftTerm and timeoutElections are names of a member's metrics.
	raftTerm         = "snowraft_raft_term"
	timeoutElections = `snowraft_raft_elections_total{cause="timeout"}`
)

// handover is a way to remove leadership from a member.
type handover struct {
	name string
	// after is the time for which all members run before the handover.
	after time.Duration
	// take removes leadership from the leader.
	take func(ctx context.Context, leader *member) error
	// ends reports whether take stops the leader's process, which must then be restarted.
	ends bool
}

func (m *member) transferLeadership(ctx context.Context) error {
	return m.with(func(conn *grpc.ClientConn) error {
		_, err := snowraftv1.NewClusterServiceClient(conn).TransferLeadership(ctx, &snowraftv1.TransferLeadershipRequest{})
		return err
	})
}

// handovers is the outcome of successive handovers.
type handovers struct {
	ids, relaxed *load.Result
	// client and followers are the times without a strict number, through the Go client and through followers.
	client, followers samples
	// needless is the number of elections beyond one per handover. timeouts is the number of elections won after a
	// timeout.
	needless, timeouts float64
}

// handOver removes leadership from the leader count times, while callers request IDs and numbers.
func (e *env) handOver(ctx context.Context, c *client.Client, members []*member, h handover, count int) (all handovers, err error) {
	first, err := c.IDs("").Ranges(ctx, 1)
	if err != nil {
		return all, err
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for _, of := range []struct {
		result  **load.Result
		callers []load.Caller
		rate    float64
		step    int64
	}{{&all.ids, coalesced(c, 64), idRate, first[0].Step}, {&all.relaxed, coalescedNumbers(c, relaxedName, 64), relaxedNumberRate, 1}} {
		running.Go(func() {
			*of.result = load.Run(run, load.Plan{
				Callers: of.callers, Duration: 24 * time.Hour, Rate: of.rate, Check: load.NewSeen(uint64(of.step), load.DefaultSpans), //nolint:gosec // at least 1
			})
		})
	}
	begin, err := highest(ctx, members, raftTerm)
	for range count {
		if err == nil {
			err = e.change(ctx, c, members, h, &all)
		}
	}
	cancel()
	running.Wait()
	if err != nil {
		return all, err
	}
	last, err := highest(ctx, members, raftTerm)
	all.needless = last - begin - float64(count)
	for _, r := range []*load.Result{all.ids, all.relaxed} {
		if v := r.Report; v.Duplicates > 0 {
			err = errors.Join(err, fmt.Errorf("%d IDs or numbers came twice, such as %v", v.Duplicates, v.Examples))
		}
	}
	return all, err
}

// change removes leadership from the leader once, and adds the times without a strict number to all.
func (e *env) change(ctx context.Context, c *client.Client, members []*member, h handover, all *handovers) (err error) {
	if err := pass(ctx, h.after); err != nil {
		return err
	}
	if err := until(ctx, func(ctx context.Context) (err error) { // the election may be in progress
		members, err = leaderFirst(ctx, members)
		return err
	}); err != nil {
		return err
	}
	leader, others := members[0], members[1:]
	before, err := sum(ctx, others, timeoutElections)
	if err != nil {
		return err
	}
	var opened closers
	defer opened.close(&err)
	p := probes{seen: map[int64]bool{}, over: make(chan struct{})}
	p.start(ctx, c.Sequence(invoices).Next)
	for _, m := range others {
		conn, err := load.Dial(m.api, load.Access{})
		if err != nil {
			return err
		}
		opened.add(conn.Close)
		numbers := snowraftv1.NewSequenceServiceClient(conn)
		p.start(ctx, func(ctx context.Context) (int64, error) {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			resp, err := numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: invoices, Count: 1})
			return resp.GetFirst(), err
		})
	}
	err = pass(ctx, 50*probePause)
	if err == nil {
		err = h.take(ctx, leader)
	}
	err = errors.Join(err, pass(ctx, min(e.duration, observed)))
	gaps, failed := p.end()
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	all.client, all.followers = append(all.client, gaps[0]), append(all.followers, gaps[1:]...)
	after, err := sum(ctx, others, timeoutElections)
	if err != nil {
		return err
	}
	all.timeouts += after - before
	if !h.ends {
		return nil
	}
	if err := leader.launch(e, nil); err != nil {
		return err
	}
	return leader.await(ctx, leader.ready)
}

// probes request strict numbers. Each probe makes one call after the other.
type probes struct {
	over    chan struct{} // closed when each probe must stop after its next success
	running sync.WaitGroup

	mu     sync.Mutex
	seen   map[int64]bool
	gaps   []*time.Duration // longest time between two successes, per probe
	failed error
}

func (p *probes) start(ctx context.Context, next func(context.Context) (int64, error)) {
	longest := new(time.Duration)
	p.gaps = append(p.gaps, longest)
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, 2*patience)
		defer cancel()
		if err := p.probe(ctx, next, longest); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.failed = errors.Join(p.failed, err)
		}
	})
}

func (p *probes) probe(ctx context.Context, next func(context.Context) (int64, error), longest *time.Duration) error {
	var since func() time.Duration // nil before the first success
	for {
		last := false
		select {
		case <-p.over:
			last = true
		default:
		}
		switch n, err := next(ctx); {
		case err == nil:
			if since != nil {
				*longest = max(*longest, since())
			}
			since = stopwatch()
			if err := p.note(n); err != nil || last {
				return err
			}
		case ctx.Err() != nil:
			return fmt.Errorf("no strict number came: %w", err)
		}
		if err := pass(ctx, probePause); err != nil {
			return err
		}
	}
}

// note records a number. It returns an error if the number came before.
func (p *probes) note(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[n] {
		return fmt.Errorf("number %d came twice", n)
	}
	p.seen[n] = true
	return nil
}

// end stops the probes and returns the longest time without a number, per probe.
func (p *probes) end() (gaps samples, err error) {
	close(p.over)
	p.running.Wait()
	for _, gap := range p.gaps {
		gaps = append(gaps, *gap)
	}
	return gaps, p.failed
}

// highest returns the greatest value of a metric among the members.
func highest(ctx context.Context, members []*member, metric string) (most float64, err error) {
	for _, m := range members {
		all, err := m.metrics(ctx)
		if err != nil {
			return 0, err
		}
		most = max(most, all[metric])
	}
	return most, nil
}

func sum(ctx context.Context, members []*member, metric string) (total float64, err error) {
	for _, m := range members {
		all, err := m.metrics(ctx)
		if err != nil {
			return 0, err
		}
		total += all[metric]
	}
	return total, nil
}
