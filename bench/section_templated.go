package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	tenantPattern = "bills/*"
	tenantFormat  = "B-{name:2}-{seq:05}"
	// singleUses is the number of first uses by one caller.
	singleUses = 500
	// usersAtOnce is the number of callers of first uses at a time.
	usersAtOnce = 128
)

func tenantName(i int) string { return fmt.Sprintf("bills/%07d", i) }

// templated measures sequences that begin by their first use with one template.
func templated() section {
	return section{name: "tenants", title: "Tenants of a template", long: true, measure: func(ctx context.Context, e *env) (*table, error) {
		sizes := []int{10_000, 100_000}
		g := &growth{columns: []string{"tenants of one template, on one member"}}
		for _, tenants := range sizes {
			g.columns = append(g.columns, whole(float64(tenants)))
			if err := e.measureTemplate(ctx, g, tenants); err != nil {
				return nil, err
			}
		}
		return g.table("One run; all tenants begin by requests to the member. Start times are medians of three starts"), nil
	}}
}

// templateMember is a member with a template, and connections to it.
type templateMember struct {
	*member
	conns []*grpc.ClientConn
}

func (e *env) measureTemplate(ctx context.Context, g *growth, tenants int) (err error) {
	var started closers
	defer started.close(&err)
	m, err := e.startTemplate(ctx, &started)
	if err != nil {
		return err
	}
	before, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	if err := m.beginAll(ctx, g, tenants); err != nil {
		return err
	}
	after, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	g.add("processor time of the member per first use", 1e9*(after[cpuSeconds]-before[cpuSeconds])/float64(tenants), nanoseconds)
	g.add("resident memory, while all tenants are in use", after[resident], megabytes)
	g.add("resident memory per tenant in use", (after[resident]-before[resident])/float64(tenants), with(" bytes", whole))
	if err := m.list(ctx, e, g); err != nil {
		return err
	}
	if err := m.apply(ctx, e, g); err != nil {
		return err
	}
	log, snapshot, err := m.onDisk()
	if err != nil {
		return err
	}
	g.add("size of the log on disk", log, megabytes)
	g.add("size of the newest snapshot on disk", snapshot, megabytes)
	if err := g.addStart(ctx, e, m.member, &started); err != nil {
		return err
	}
	if after, err = m.metrics(ctx); err == nil {
		g.add("resident memory after a start", after[resident], megabytes)
	}
	return err
}

// startTemplate starts a member with a strict sequence and a template.
func (e *env) startTemplate(ctx context.Context, started *closers) (m templateMember, err error) {
	members, err := e.startCluster(ctx, 1, started)
	if err != nil {
		return m, err
	}
	if err := members[0].sequence(ctx, invoices, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
		return m, err
	}
	if m, err = dialTemplate(members[0], started); err != nil {
		return m, err
	}
	req := &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{Pattern: tenantPattern, Settings: &snowraftv1.Sequence{Format: tenantFormat}}}
	return m, until(ctx, func(ctx context.Context) error { // fails until the new cluster has the newest version
		_, err := snowraftv1.NewTemplateServiceClient(m.conns[0]).CreateTemplate(ctx, req)
		return err
	})
}

// dialTemplate opens the connections to a member with a template.
func dialTemplate(of *member, started *closers) (m templateMember, err error) {
	m.member = of
	for range 8 {
		conn, err := load.Dial(m.api, load.Access{})
		if err != nil {
			return m, err
		}
		started.add(conn.Close)
		m.conns = append(m.conns, conn)
	}
	return m, nil
}

// next requests a number and, as clients do, repeats a request without an answer. It returns the time that this took.
func (m templateMember) next(ctx context.Context, caller int, sequence string) (time.Duration, error) {
	elapsed := stopwatch()
	err := until(ctx, func(ctx context.Context) error {
		_, err := snowraftv1.NewSequenceServiceClient(m.conns[caller%len(m.conns)]).NextNumbers(ctx, &snowraftv1.NextNumbersRequest{
			Sequence: sequence, Count: 1,
		})
		return err
	})
	return elapsed(), err
}

// beginAll uses each tenant for the first time: all but the last few from many callers at once, and then those by one caller.
func (m templateMember) beginAll(ctx context.Context, g *growth, tenants int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		begun   atomic.Int64
		running sync.WaitGroup
		many    = tenants - singleUses
		slowest [usersAtOnce]time.Duration
	)
	elapsed := stopwatch()
	for caller := range usersAtOnce {
		running.Go(func() {
			for i := int(begun.Add(1)) - 1; i < many; i = int(begun.Add(1)) - 1 {
				took, err := m.next(ctx, caller, tenantName(i))
				if err != nil {
					cancel(err)
					return
				}
				slowest[caller] = max(slowest[caller], took)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	g.add(fmt.Sprintf("first uses per second, %d callers at once", usersAtOnce), float64(many)/elapsed().Seconds(), amount)
	g.add("slowest of these", float64(slices.Max(slowest[:])), nanoseconds)
	return m.beginSingly(ctx, g, many, tenants)
}

// beginSingly uses the tenants of a half-open range for the first time, by one caller.
func (m templateMember) beginSingly(ctx context.Context, g *growth, from, until int) error {
	var took samples
	for i := from; i < until; i++ {
		one, err := m.next(ctx, 0, tenantName(i))
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	g.add("p50 of a first use, one caller", took.percentile(50), nanoseconds)
	g.add("p99 of a first use, one caller", took.percentile(99), nanoseconds)
	return nil
}

// list lists all sequences, page by page and with the command.
func (m templateMember) list(ctx context.Context, e *env, g *growth) error {
	var pages samples
	for token := ""; ; {
		elapsed := stopwatch()
		resp, err := snowraftv1.NewSequenceServiceClient(m.conns[0]).ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return err
		}
		pages = append(pages, elapsed())
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	g.add("a page of 1,000 sequences, median", pages.percentile(50), nanoseconds)
	g.add("a page of 1,000 sequences, longest", pages.percentile(100), nanoseconds)
	elapsed := stopwatch()
	if err := e.run(ctx, "seq", "list", "--addr", m.api); err != nil {
		return err
	}
	g.add("`snowraft seq list`", float64(elapsed()), nanoseconds)
	return nil
}

// apply gives all tenants another format while a caller requests numbers of another sequence.
func (m templateMember) apply(ctx context.Context, e *env, g *growth) error {
	if err := e.run(ctx, "template", "update", tenantPattern, "--format", "BILL-{name:2}-{seq:06}", "--addr", m.api); err != nil {
		return err
	}
	done := make(chan struct{})
	var slowest time.Duration
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		for failed == nil {
			var one time.Duration
			one, failed = m.next(ctx, 0, invoices)
			slowest = max(slowest, one)
			select {
			case <-done:
				return
			default:
			}
		}
	})
	elapsed := stopwatch()
	err := m.applyAll(ctx, e)
	g.add("`snowraft template apply` with another format", float64(elapsed()), nanoseconds)
	close(done)
	running.Wait()
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	g.add("slowest number of another strict sequence meanwhile, one caller", float64(slowest), nanoseconds)
	elapsed = stopwatch()
	err = m.applyAll(ctx, e)
	g.add("`snowraft template apply`, if nothing differs", float64(elapsed()), nanoseconds)
	return err
}

// applyAll applies the template. While the member has no answer in time, the command asks to be run again.
func (m templateMember) applyAll(ctx context.Context, e *env) error {
	for {
		err := e.run(ctx, "template", "apply", tenantPattern, "--addr", m.api)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
			return err
		}
	}
}
