package client

import (
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is the name of the balancer in gRPC.
const balancerName = "snowraft"

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, pickers{}, base.Config{HealthCheck: true}))
}

// pickers makes a picker whenever a connection comes or goes.
type pickers struct{}

func (pickers) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := new(picker)
	for conn, about := range info.ReadySCs {
		p.ready = append(p.ready, connection{conn, about.Address.Addr})
	}
	return p
}

// picker chooses among the connections to healthy members. It passes over members that the try of a
// call would rather not have, and prefers those with the fewest calls in progress: one that
// hangs, which is not known yet, soon has more than the others.
type picker struct {
	ready []connection
}

type connection struct {
	balancer.SubConn
	addr string
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t, ok := info.Ctx.Value(tryKey{}).(*try)
	if !ok {
		return balancer.PickResult{SubConn: p.ready[rand.IntN(len(p.ready))].SubConn}, nil
	}
	if t.only != "" {
		for _, conn := range p.ready {
			if conn.addr == t.only {
				return balancer.PickResult{SubConn: conn.SubConn}, nil
			}
		}
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable // until its connection is there
	}
	var best connection
	least, fewest, equal, fresh := worst+1, 0, 0, 0
	for _, conn := range p.ready {
		objection, calls := t.standing.objection(conn.addr)
		if slices.Contains(t.avoid, conn.addr) {
			objection += avoided
		}
		if objection < avoided {
			fresh++
		}
		if objection < least || objection == least && calls < fewest {
			least, fewest, equal = objection, calls, 0
		}
		if objection == least && calls == fewest {
			if equal++; rand.IntN(equal) == 0 {
				best = conn
			}
		}
	}
	t.choose(best.addr, least < avoided && fresh > 1)
	return balancer.PickResult{SubConn: best.SubConn, Done: t.standing.take(best.addr)}, nil
}

// Objections of a try to a member, from the least to the worst; they add up.
const (
	unlearned = 1 // no member knows this address: it may be another name of one that is known
	suspected = 2
	avoided   = 4
	worst     = unlearned + suspected + avoided
)

// try is one try of a call. It travels in the call's context.
type try struct {
	only     string   // not empty: the address to take
	avoid    []string // addresses that were tried in this round
	standing *standing

	mu     sync.Mutex
	member string // the address that was picked
	others bool   // there were others to pick
}

type tryKey struct{}

func (t *try) choose(addr string, others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.member, t.others = addr, others
}

// chosen is the member that was picked last, and whether there were others.
func (t *try) chosen() (addr string, others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.member, t.others
}
