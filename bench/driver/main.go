// Command driver calls a cluster through the Go client on request, and returns the measured figures.
//
// It is built with the client of this tree and with the client of an earlier commit. So it uses only the part of the
// client that both versions have. It does not use internal/load, which may differ too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/client"
)

func main() {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Fprintln(os.Stdout, l.Addr())
		err = (&http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: time.Minute}).Serve(l)
	}
	fmt.Fprintln(os.Stderr, "driver:", err)
	os.Exit(1)
}

func serve(w http.ResponseWriter, r *http.Request) {
	p, err := parse(r.URL.Query())
	if err == nil {
		var measured map[string]float64
		if measured, err = p.run(r.Context()); err == nil {
			_ = json.NewEncoder(w).Encode(measured)
			return
		}
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// plan is the work of a run.
type plan struct {
	addresses        []string
	sequence         string // name of the sequence; empty: IDs
	clients, callers int    // callers: per client
	warm, duration   time.Duration
}

func parse(query url.Values) (p plan, err error) {
	p.addresses, p.sequence = strings.Split(query.Get("addresses"), ","), query.Get("sequence")
	var failed [4]error
	p.clients, failed[0] = strconv.Atoi(query.Get("clients"))
	p.callers, failed[1] = strconv.Atoi(query.Get("callers"))
	p.warm, failed[2] = time.ParseDuration(query.Get("warm"))
	p.duration, failed[3] = time.ParseDuration(query.Get("duration"))
	return p, errors.Join(failed[:]...)
}

// The phases of a run.
const (
	warming = iota
	measuring
	over
)

// sampled is the number of calls per timed call, unless there is only one caller: reading the clock for each call would be
// a large part of the work.
const sampled = 16

// caller makes calls, one after the other, and counts the calls that end in the measuring phase.
type caller struct {
	next  func(context.Context) (int64, error)
	every int // number of calls per timed call

	calls int
	took  []time.Duration
}

// run makes calls until the phase is over. It calls began.Done after the first call, and timed after each timed call.
func (c *caller) run(ctx context.Context, phase *atomic.Int32, began *sync.WaitGroup, timed func()) error {
	_, err := c.next(ctx)
	began.Done()
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		var since time.Time
		if n%c.every == 0 {
			since = now()
		}
		if _, err := c.next(ctx); err != nil {
			return err
		}
		switch phase.Load() {
		case over:
			return nil
		case measuring:
			c.calls++
			if !since.IsZero() {
				c.took = append(c.took, now().Sub(since))
				timed()
			}
		}
	}
}

// run opens clients, runs all callers, and closes the clients.
func (p plan) run(ctx context.Context) (map[string]float64, error) {
	callers, closeAll, err := p.open()
	defer closeAll()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		phase            atomic.Int32
		running, started sync.WaitGroup
		timed            = make(chan struct{})
		first            = sync.OnceFunc(func() { close(timed) })
	)
	started.Add(len(callers))
	for _, c := range callers {
		running.Go(func() {
			if err := c.run(ctx, &phase, &started, first); err != nil {
				cancel(err)
			}
		})
	}
	started.Wait()
	pass(ctx, p.warm)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	phase.Store(measuring)
	began := now()
	pass(ctx, p.duration)
	select { // a stall of a busy machine may take the whole duration
	case <-timed:
	case <-ctx.Done():
	}
	elapsed := now().Sub(began)
	runtime.ReadMemStats(&after)
	phase.Store(over)
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var (
		calls int
		took  []time.Duration
	)
	for _, c := range callers {
		calls += c.calls
		took = append(took, c.took...)
	}
	slices.Sort(took)
	percentile := func(percent int) float64 { return float64(took[max(0, (len(took)*percent+99)/100-1)]) }
	return map[string]float64{
		"calls/s": float64(calls) / elapsed.Seconds(), "p50 ns": percentile(50), "p99 ns": percentile(99),
		"allocations each": float64(after.Mallocs-before.Mallocs) / float64(calls),
	}, nil
}

func (p plan) open() (callers []*caller, closeAll func(), err error) {
	var clients []*client.Client
	closeAll = func() {
		for _, c := range clients {
			_ = c.Close() // no call is in progress
		}
	}
	every := sampled
	if p.callers == 1 {
		every = 1
	}
	for range p.clients {
		c, err := client.New(p.addresses, client.WithTimeout(10*time.Second))
		if err != nil {
			return nil, closeAll, err
		}
		clients = append(clients, c)
		next := c.NextID
		if p.sequence != "" {
			next = c.Sequence(p.sequence).Next
		}
		for range p.callers {
			callers = append(callers, &caller{next: next, every: every})
		}
	}
	return callers, closeAll, nil
}

// pass waits for the duration d.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
