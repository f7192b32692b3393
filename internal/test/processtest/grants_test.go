//go:build process

package processtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// lease is the grant of a worker under a token, according to its holder.
type lease struct {
	holder        string // holder that requested the worker
	worker, token uint64
	from, until   int64 // ticks
}

// grants is the history of grants as the holders see it.
type grants struct {
	mu      sync.Mutex
	byToken map[uint64]*lease
	twice   []string // tokens granted twice
}

func newGrants() *grants { return &grants{byToken: make(map[uint64]*lease)} }

// listen records all grants over a connection.
func (g *grants) listen(holder string) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if r, ok := req.(*snowraftv1.ReleaseWorkerRequest); ok {
			// The holder uses no later ticks, whether or not the release arrives.
			g.change(r.GetToken(), func(l *lease) { l.until = r.GetNextTick() })
		}
		err := invoke(ctx, method, req, reply, cc, opts...)
		if err != nil {
			return err
		}
		switch r := reply.(type) {
		case *snowraftv1.AcquireWorkerResponse:
			g.add(holder, r.GetGrant())
		case *snowraftv1.ExtendWindowResponse:
			g.change(r.GetGrant().GetToken(), func(l *lease) { l.until = max(l.until, r.GetGrant().GetUntilTick()) })
		}
		return nil
	})
}

func (g *grants) add(holder string, grant *snowraftv1.Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before, twice := g.byToken[grant.GetToken()]; twice {
		g.twice = append(g.twice, fmt.Sprintf("token %d to %s and to %s", grant.GetToken(), before.holder, holder))
	}
	g.byToken[grant.GetToken()] = &lease{holder, grant.GetWorker(), grant.GetToken(), grant.GetFromTick(), grant.GetUntilTick()}
}

func (g *grants) change(token uint64, change func(*lease)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.byToken[token]; l != nil {
		change(l)
	}
}

// byWorker lists the leases of each worker in the order in which they were granted.
func (g *grants) byWorker() map[uint64][]lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	workers := make(map[uint64][]lease)
	for _, l := range g.byToken {
		workers[l.worker] = append(workers[l.worker], *l)
	}
	for _, leases := range workers {
		slices.SortFunc(leases, func(a, b lease) int { return cmp.Compare(a.token, b.token) })
	}
	return workers
}

// check fails the test if a worker was granted to two holders for the same tick, or a token twice.
func (g *grants) check(t *testing.T) {
	t.Helper()
	for _, what := range g.twice {
		t.Error("granted twice: " + what)
	}
	if a, b := overlap(g.byWorker()); a != nil {
		t.Errorf("worker %d was granted to %s for ticks [%d, %d) and then to %s for [%d, %d)",
			a.worker, a.holder, a.from, a.until, b.holder, b.from, b.until)
	}
	t.Logf("%d grants of %d workers", len(g.byToken), len(g.byWorker()))
}

// overlap returns two leases of a worker of which the later one begins before the earlier one has ended.
func overlap(workers map[uint64][]lease) (a, b *lease) {
	for _, leases := range workers {
		for i := 1; i < len(leases); i++ {
			if leases[i].from < leases[i-1].until {
				return &leases[i-1], &leases[i]
			}
		}
	}
	return nil, nil
}

// of returns the lease under which an ID was issued, if it is known.
func (g *grants) of(id uint64, layout *snowflake.Layout, workers map[uint64][]lease) (l lease, ok bool, err error) {
	parts, err := layout.Unpack(id)
	if err != nil {
		return lease{}, false, err
	}
	for _, l := range workers[parts.Worker] {
		if l.from <= parts.Tick && parts.Tick < l.until {
			return l, true, nil
		}
	}
	return lease{}, false, nil
}

// TestOverlap checks that overlap finds overlapping grants.
func TestOverlap(t *testing.T) {
	t.Parallel()
	apart := []lease{{"a", 1, 5, 10, 20}, {"b", 1, 9, 20, 21}, {"c", 1, 11, 30, 40}}
	if a, _ := overlap(map[uint64][]lease{1: apart, 2: apart[:1]}); a != nil {
		t.Errorf("overlap() = %v, want none", a)
	}
	if a, _ := overlap(map[uint64][]lease{1: append(apart, lease{"d", 1, 12, 39, 50})}); a == nil {
		t.Error("overlap() = none, want leases of c and d")
	}
}
