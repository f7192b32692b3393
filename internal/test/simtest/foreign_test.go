package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/deadline"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	// foreignBack is the step back of the clock that foreign libraries tolerate, and foreignAhead the time by which they
	// run ahead of it.
	foreignBack, foreignAhead = 5 * time.Millisecond, 30 * time.Millisecond
	// foreignWorkers is less than the number of foreign holders, so that workers change their holders.
	foreignWorkers = 2
	foreigners     = 4
)

// foreign is a layout whose workers are leased to programs with ID libraries of their own.
type foreign struct {
	*world
	layout *snowflake.Layout
	stop   chan struct{}
	alive  sync.WaitGroup

	mu     sync.Mutex
	holder map[uint64]map[int64]uint64 // fencing token of the holder that used a tick, by worker and tick
	counts struct{ leases, releases, kills, ids, handovers int }
	last   map[uint64]string // last holder with an ID, by worker
	top    map[uint64]int64  // highest used tick, by worker
}

// granted checks that a new window begins above all used ticks of its worker.
func (f *foreign) granted(name string, g allocator.Grant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.leases++
	if top := f.top[g.Worker]; top >= g.From {
		f.Errorf("the window [%d, %d) of worker %d for %s begins below tick %d, which is used", g.From, g.Until, g.Worker, name, top)
	}
}

// use records an ID of a holder. No two holders may use one tick of a worker.
func (f *foreign) use(name string, g allocator.Grant, tick int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if tick < g.From || tick >= g.Until {
		f.Errorf("%s uses tick %d of worker %d, outside its window [%d, %d)", name, tick, g.Worker, g.From, g.Until)
	}
	of := f.holder[g.Worker]
	if of == nil {
		of = make(map[int64]uint64)
		f.holder[g.Worker] = of
	}
	if other, used := of[tick]; used && other != g.Token {
		f.Errorf("tick %d of worker %d is used under tokens %d and %d", tick, g.Worker, other, g.Token)
	}
	of[tick] = g.Token
	f.top[g.Worker] = max(f.top[g.Worker], tick)
	f.counts.ids++
	if last := f.last[g.Worker]; last != name {
		f.last[g.Worker] = name
		f.counts.handovers++
	}
}

// count adds to a counter.
func (f *foreign) count(counter *int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*counter++
}

// foreigner is a host with a bad clock, on which a program runs under the rules of "worker run".
type foreigner struct {
	*foreign
	name   string
	clock  *wrist
	rng    *rand.Rand
	leases byte
	set    bool // since the last look
}

// now reads the host's clock.
func (h *foreigner) now() deadline.Reading {
	now := time.Now()
	return deadline.Reading{Wall: time.Duration(now.Add(h.clock.ahead()).UnixNano()), Mono: now.Sub(someDay)}
}

// step moves the clock. A host's processes learn of each step.
func (h *foreigner) step(by time.Duration) {
	h.clock.set(h.clock.ahead() + by)
	h.set = true
}

// look judges the host's clock.
func (h *foreigner) look(judge *deadline.Judge, g allocator.Grant) (deadline.Reading, deadline.Verdict) {
	now := h.now()
	now.Set, h.set = h.set, false
	verdict, _ := judge.Judge(now, h.rules(g))
	return now, verdict
}

// leader returns a connection to the leader, nil without a leader.
func (h *foreigner) leader() allocator.Granter {
	for _, n := range h.live() {
		if p, leader := n.proc(), h.leaderNow(); p != nil && leader != nil {
			return &apiPort{h.net, p, leader}
		}
	}
	return nil
}

// run leases one worker after another until the end of the test.
func (h *foreigner) run() {
	for {
		select {
		case <-h.stop:
			return
		case <-time.After(time.Duration(h.rng.IntN(int(200 * time.Millisecond)))):
		}
		switch h.rng.IntN(12) {
		case 0:
			h.clock.set([]time.Duration{-time.Hour, -2 * time.Second, 2 * time.Second, time.Hour}[h.rng.IntN(4)])
		case 1, 2, 3, 4:
			h.clock.set(time.Duration(h.rng.IntN(int(600*time.Millisecond))) - 300*time.Millisecond)
			h.clock.drift(float64(h.rng.IntN(1000)-500) * 1e-6)
		}
		if to := h.leader(); to != nil {
			h.lease(to)
		}
	}
}

// lease leases a worker, and runs a program with it.
func (h *foreigner) lease(to allocator.Granter) {
	ctx, cancel := context.WithTimeout(h.Context(), 2*time.Second)
	defer cancel()
	h.leases++
	nonce := allocator.Nonce{2, h.name[len(h.name)-1], h.leases}
	g, err := to.AcquireWorker(ctx, allocator.AcquireRequest{
		Layout: h.layout.Name(), Holder: h.name, Nonce: nonce, NowMillis: h.now().Wall.Milliseconds(), Window: limits.MaxWindow, Below: foreignWorkers,
	})
	if err != nil {
		return
	}
	h.granted(h.name, g)
	var judge deadline.Judge
	g, killed := h.program(g, nonce, &judge)
	if killed {
		h.count(&h.counts.kills)
	}
	h.look(&judge, g) // the program may have seen a step that no reading shows
	next := h.layout.TickAt(judge.Last(h.now(), h.rules(g), time.Millisecond).UnixMilli()) + 1
	to = h.leader()
	if judge.Stepped() || next > g.Until || to == nil {
		return
	}
	ctx, cancel = context.WithTimeout(h.Context(), 2*time.Second)
	defer cancel()
	if to.ReleaseWorker(ctx, allocator.ReleaseRequest{
		Layout: h.layout.Name(), Worker: g.Worker, Token: g.Token, Nonce: nonce, Until: g.Until, Next: next,
	}) == nil {
		h.count(&h.counts.releases)
	}
}

func (h *foreigner) rules(g allocator.Grant) deadline.Rules {
	return deadline.Rules{
		From: time.Duration(h.layout.MillisAt(g.From)) * time.Millisecond, Until: time.Duration(h.layout.MillisAt(g.Until)) * time.Millisecond,
		Back: foreignBack, Ahead: foreignAhead, Offset: 500 * time.Millisecond,
	}
}

// program makes IDs until the judge kills it, it exits, or the test ends. It returns the last window.
func (h *foreigner) program(g allocator.Grant, nonce allocator.Nonce, judge *deadline.Judge) (last allocator.Grant, killed bool) {
	extended := make(chan allocator.Grant, 1)
	extending, started, used := false, false, int64(0)
	for {
		select {
		case <-h.stop:
			return g, false
		case later := <-extended:
			if extending = false; later.Token == g.Token {
				g = later
			}
		case <-time.After(time.Millisecond):
		}
		switch h.rng.IntN(12000) {
		case 0:
			h.step([]time.Duration{-time.Hour, -time.Second, time.Second, time.Hour}[h.rng.IntN(4)])
		case 1, 2, 3, 4:
			h.step(time.Duration(h.rng.IntN(9)-4) * time.Millisecond)
		case 5, 6, 7, 8, 9, 10:
			return g, false
		}
		now, verdict := h.look(judge, g)
		switch {
		case verdict == deadline.Kill:
			return g, true
		case verdict == deadline.Early && !started:
			continue
		case !started:
			started = true
			if h.rng.IntN(2) == 0 {
				h.step(-foreignBack)
			}
			continue
		}
		lead := time.Duration(h.rng.IntN(2)) * time.Duration(h.rng.IntN(int(foreignAhead)))
		if tick := h.layout.TickAt((now.Wall + lead).Milliseconds()); tick > used {
			used = tick
			h.use(h.name, g, tick)
		}
		if left := time.Duration(h.layout.MillisAt(g.Until))*time.Millisecond - now.Wall; !extending && left < h.maxWindow/2 {
			extending = true
			h.alive.Go(func() { extended <- h.extend(g, nonce) })
		}
	}
}

// extend requests a later end of a window once. It returns the zero grant after a failure.
func (h *foreigner) extend(g allocator.Grant, nonce allocator.Nonce) allocator.Grant {
	to := h.leader()
	if to == nil {
		return allocator.Grant{}
	}
	ctx, cancel := context.WithTimeout(h.Context(), time.Second)
	defer cancel()
	later, err := to.ExtendWindow(ctx, allocator.ExtendRequest{
		Layout: h.layout.Name(), Worker: g.Worker, Token: g.Token, Nonce: nonce, Until: g.Until, ID: uint64(g.Until) | 1<<62,
		NowMillis: h.now().Wall.Milliseconds(), Window: limits.MaxWindow,
	})
	if err != nil {
		return allocator.Grant{}
	}
	return later
}

// TestForeignHolders runs programs with ID libraries of their own, under the rules of "worker run", on hosts whose clocks
// are off, drift and jump, while members crash and the network fails. No two holders of a worker use the same tick.
func TestForeignHolders(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true, maxWindow: 3 * time.Second}, func(w *world) {
		spec := snowflake.Default().Spec()
		spec.Name, spec.Spread, spec.LeaseOnly = "foreign", 0, true
		layout, err := w.leader().proc().member.CreateLayout(w.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		f := &foreign{world: w, layout: layout, stop: make(chan struct{}), holder: make(map[uint64]map[int64]uint64), last: make(map[uint64]string), top: make(map[uint64]int64)}
		for i := range foreigners {
			const stream = 1 << 33
			h := &foreigner{foreign: f, name: fmt.Sprintf("foreign-%d", i), clock: newWrist(), rng: w.source(stream + uint64(i))}
			f.alive.Go(h.run)
		}
		rounds := depth.Of(12, 80)
		for range rounds {
			w.pass(w.between(5*time.Second, 10*time.Second))
			w.net.lose(0.1, apiPlane)
			w.mishap(6)
			w.pass(w.between(0, 6*time.Second))
			w.net.heal()
			w.startAll()
		}
		w.untilAllIssue(recovery)
		close(f.stop)
		f.alive.Wait()
		c := f.counts
		t.Logf("%d leases, %d releases, %d kills, %d handovers, %d IDs", c.leases, c.releases, c.kills, c.handovers, c.ids)
		if c.releases < rounds/4 || c.kills < rounds/4 || c.handovers < rounds || c.ids < 500*rounds {
			t.Error("too little happened")
		}
	})
}
