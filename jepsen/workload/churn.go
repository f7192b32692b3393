//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// churn runs more holders than the layout has workers: embedded generators in this process
// that start and stop, members, and holders that only acquire, extend and release workers.
// Workers therefore change their holders all the time, and sometimes none is free.
func churn() Workload {
	return Workload{
		Name:  "churn",
		About: "more holders than workers, which start and stop",
		Prepare: func(ctx context.Context, w *World) error {
			return w.CreateLayout(ctx, &snowraftv1.Layout{
				Name: smallLayout, UnitMs: 1, EpochAtMs: 1577836800000,
				Fields: []*snowraftv1.Field{
					{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 3},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
				},
			})
		},
		Run: runChurn,
	}
}

const (
	smallLayout = "small" // layout with 8 workers
	churners    = 16      // generators
	idlers      = 4       // holders that issue nothing
)

func runChurn(ctx context.Context, w *World) error {
	out, err := w.IDs(smallLayout)
	if err != nil {
		return err
	}
	ids, err := connect(w, snowraftv1.NewIdServiceClient)
	if err != nil {
		return err
	}
	defer ids.close()
	workers, err := connect(w, snowraftv1.NewWorkerServiceClient)
	if err != nil {
		return err
	}
	defer workers.close()
	own, err := w.product()
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck // nothing is in progress

	var wg sync.WaitGroup
	errs := make([]error, churners)
	for i := range churners {
		c := &churner{client: w.client("churn"), own: own, out: out, holder: fmt.Sprintf("churn-%d", i+1), rate: w.Rate * 0.7 / churners}
		wg.Go(func() { errs[i] = c.live(ctx) })
	}
	for i := range idlers {
		c := &idler{client: w.client("churn"), of: workers.of, holder: fmt.Sprintf("idle-%d", i+1)}
		wg.Go(func() { c.live(ctx) })
	}
	// A member acquires a worker when IDs of the layout are requested, and keeps it.
	c := idClient{client: w.client("churn"), layout: smallLayout, out: out}
	wg.Go(func() {
		pace(ctx, w.Rate*0.3, func(ctx context.Context) {
			if m, ok := w.someone(); ok {
				c.ask(ctx, m, ids.of[m], 0, 0)
			}
		})
	})
	wg.Wait()
	return errors.Join(errs...)
}

// churner runs one generator after another with the same holder name.
type churner struct {
	*client
	own    *product.Client
	out    *history.Writer
	holder string
	rate   float64
}

func (c *churner) live(ctx context.Context) error {
	for history.Sleep(ctx, rand.N(2*time.Second)) {
		if err := c.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

// once runs one generator, which finally releases its worker or abandons it.
func (c *churner) once(ctx context.Context) error {
	options := []product.GeneratorOption{product.WithGeneratorLayout(smallLayout), product.WithGeneratorHolder(c.holder)}
	if rand.IntN(2) == 0 {
		options = append(options, product.WithGeneratorNoWait())
	}
	process := history.Process{Start: c.w.Lab.NextStart(), Member: c.holder, Generator: true, PID: os.Getpid(), At: history.Now()}
	c.w.Journal.Add(history.Line{Process: &process})
	gen, err := product.NewGenerator(c.own, options...)
	if err != nil {
		return err
	}
	u := &user{
		own: gen, ids: c.out, number: c.w.NextOp,
		like: history.Op{
			Workload: c.workload, Client: c.number, Do: history.DoIDs, Key: smallLayout, Member: c.holder, Start: process.Start,
			Session: c.w.NextSession(),
		},
		write: func(op history.Op) { c.w.Journal.Add(history.Line{Op: &op}) },
	}
	life, end := context.WithTimeout(ctx, within(500*time.Millisecond, 6*time.Second))
	defer end()
	pace(life, c.rate, u.ask)
	ended := process
	ended.Exit = c.end(ctx, gen)
	ended.Ended, ended.At = true, history.Now()
	c.w.Journal.Add(history.Line{Process: &ended})
	return nil
}

// end closes or abandons a generator, and returns which.
func (c *churner) end(ctx context.Context, gen *product.Generator) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if rand.IntN(3) == 0 {
		cancel() // leaves no time for a release
	}
	if err := gen.Close(ctx); err != nil {
		return "abandoned: " + err.Error()
	}
	return "closed"
}
