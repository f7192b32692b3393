//go:build process

package processtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/depth"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// given is a range of IDs that an application got: all from first to last.
type given struct {
	first, last uint64
	holder      string // holder of its generator; empty: a member issued the IDs
}

// fleet is a set of applications that request IDs until stop.
type fleet struct {
	t       *testing.T
	layout  *snowflake.Layout
	addrs   []string
	grants  *grants
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	failed  atomic.Int64
	slowest atomic.Int64 // ns

	mu  sync.Mutex
	all []given
}

// newFleet creates the layout of a fleet. It has few more workers than the fleet needs, so that many workers are reused.
func newFleet(t *testing.T, members []*member) *fleet {
	t.Helper()
	layout := snowflake.MustNew(snowflake.Spec{
		Name:        "fleet",
		Fields:      []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldWorker, Bits: 9}, {Field: snowflake.FieldSequence, Bits: 12}},
		UnitMillis:  1,
		EpochMillis: snowflake.Default().Spec().EpochMillis,
	})
	create := &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(layout.Spec())}
	if _, err := snowraftv1.NewLayoutServiceClient(members[0].conn).CreateLayout(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, layout: layout, grants: newGrants()}
	for _, m := range members {
		f.addrs = append(f.addrs, m.api)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	t.Cleanup(f.stop)
	return f
}

func (f *fleet) stop() {
	f.cancel()
	f.wg.Wait()
}

func (f *fleet) add(g ...given) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, g...)
}

// every calls ask repeatedly, with a pause, until done is closed.
func (f *fleet) every(pause time.Duration, done <-chan struct{}, ask func(context.Context) ([]given, error)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		began := time.Now()
		got, err := ask(context.Background()) // bounded by the client's timeout
		if took := int64(time.Since(began)); took > f.slowest.Load() {
			f.slowest.Store(took)
		}
		if err != nil {
			f.failed.Add(1)
			f.t.Errorf("%s: %v", time.Now().Format(time.TimeOnly), err)
		}
		f.add(got...)
	}
}

// direct adds a client that requests IDs from members.
func (f *fleet) direct(pause time.Duration) {
	c, err := client.New(f.addrs)
	if err != nil {
		f.t.Fatal(err)
	}
	f.wg.Go(func() {
		defer c.Close()
		f.every(pause, f.ctx.Done(), func(ctx context.Context) ([]given, error) {
			id, err := c.IDs(f.layout.Name()).Next(ctx)
			if err != nil {
				return nil, fmt.Errorf("direct client: %w", err)
			}
			return []given{{first: uint64(id), last: uint64(id)}}, nil
		})
	})
}

// embedded adds an application that restarts repeatedly, alternately after a graceful shutdown and
// after a crash. Each run lasts for lives; 0 means until the end of the test.
func (f *fleet) embedded(name string, pause, lives time.Duration) {
	f.wg.Go(func() {
		for life := 0; f.ctx.Err() == nil; life++ {
			f.live(name, life, pause, lives)
		}
	})
}

func (f *fleet) live(name string, life int, pause, lives time.Duration) {
	holder := fmt.Sprintf("%s, life %d", name, life)
	c, err := client.New(f.addrs, client.WithDialOptions(f.grants.listen(holder)))
	if err != nil {
		f.t.Error(err)
		return
	}
	g, err := client.NewGenerator(c, client.WithGeneratorLayout(f.layout.Name()), client.WithGeneratorHolder(name))
	if err != nil {
		f.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	if lives > 0 {
		ctx, cancel = context.WithTimeout(f.ctx, lives)
	}
	defer cancel()
	f.every(pause, ctx.Done(), func(ctx context.Context) ([]given, error) {
		ranges, err := g.Ranges(ctx, 5)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", holder, err)
		}
		var got []given
		for _, r := range ranges {
			got = append(got, given{uint64(r.First), uint64(r.First + int64(r.Count-1)*r.Step), holder})
		}
		return got, nil
	})
	if life%2 == 1 {
		_ = c.Close() // like a crash: the generator cannot release its workers
	}
	bounded, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = g.Close(bounded)
	_ = c.Close()
}

// TestEmbeddedGenerators kills a member every 5 s while applications embed generators, and others call the
// members. All IDs differ, every worker has one holder at a time, and each holder issues only IDs in its grants.
func TestEmbeddedGenerators(t *testing.T) {
	const (
		generators, restarting, clients = 200, 50, 50
		every                           = 5 * time.Second
		pause                           = 50 * time.Millisecond
	)
	kills := depth.Of(6, 12) // each member twice, at least
	members := startCluster(t, 3)
	f := newFleet(t, members)
	for i := range generators {
		lives := time.Duration(0)
		if i < restarting {
			lives = 1500*time.Millisecond + time.Duration(i)*50*time.Millisecond
		}
		f.embedded(fmt.Sprintf("app%d", i), pause, lives)
	}
	for range clients {
		f.direct(pause)
	}
	for killed := range kills {
		pass(t, every-time.Second)
		m := members[killed%len(members)]
		m.kill()
		pass(t, time.Second)
		m.start()
	}
	f.stop()
	for _, m := range members {
		m.untilIssues()
	}

	f.checkUnique()
	f.grants.check(t)
	f.checkGrants(members)
	t.Logf("%d kills; %d calls failed, the slowest took %v", kills, f.failed.Load(), time.Duration(f.slowest.Load()))
}

// checkUnique fails the test if an ID was issued twice.
func (f *fleet) checkUnique() {
	slices.SortFunc(f.all, func(a, b given) int { return cmp.Compare(a.first, b.first) })
	total := uint64(0)
	for i, g := range f.all {
		if i > 0 && g.first <= f.all[i-1].last {
			f.t.Fatalf("ID %d was issued twice: to %q and to %q", g.first, f.all[i-1].holder, g.holder)
		}
		total += g.last - g.first + 1
	}
	if total == 0 {
		f.t.Fatal("no ID was issued")
	}
	f.t.Logf("%d IDs, all different", total)
}

// checkGrants fails the test if the issuer of an ID was not the holder of its cell, by the grants that the holders
// and the members know.
func (f *fleet) checkGrants(members []*member) {
	workers := f.grants.byWorker()
	asked := make(map[uint64]bool) // tokens already checked
	for _, g := range f.all {
		l, known, err := f.grants.of(g.first, f.layout, workers)
		if err != nil || known != (g.holder != "") || l.holder != g.holder {
			f.t.Fatalf("ID %d was issued by %q, and its cell was granted to %q: %v", g.first, g.holder, l.holder, err)
		}
		if !known || asked[l.token] {
			continue
		}
		asked[l.token] = true
		resp, err := members[0].ids.WhoIs(f.t.Context(), &snowraftv1.WhoIsRequest{Id: int64(g.first), Layout: f.layout.Name()})
		if err != nil {
			f.t.Fatalf("WhoIs(%d): %v", g.first, err)
		}
		if resp.GetGrant().GetToken() != l.token {
			f.t.Errorf("ID %d was issued under token %d, and the members report %v", g.first, l.token, resp.GetGrant())
		}
	}
	f.t.Logf("the members know of %d grants in use", len(asked))
}
