package client

import (
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is the name under which the balancer is registered in gRPC.
const balancerName = "snowraft"

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, pickers{}, base.Config{HealthCheck: true}))
}

// pickers builds a new picker whenever the set of ready connections changes.
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

// picker chooses among the connections to healthy members. It chooses a member with the least objections of the try,
// and among these one with the fewest calls in progress. A member that hangs, before that is known, soon has more
// calls in progress than the others.
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
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable // gRPC waits for the next picker
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
	return balancer.PickResult{SubConn: best.SubConn, Done: t.standing.countCall(best.addr)}, nil
}

// Objections to a member, in ascending order. The sum of a member's objections decides.
const (
	unlearned = 1 // no member advertises this address: it may be an alias of an advertised one
	resting   = 2 // stream at rest: the member answers slowly, refuses, or has no stream
	suspected = 4 // no answer in time
	avoided   = 8 // the try avoids it
	worst     = unlearned + resting + suspected + avoided
)

// try is one try of a call. It travels in the call's context.
type try struct {
	only     string   // the only address to pick; empty: any
	avoid    []string // addresses tried in this round
	standing *standing

	mu     sync.Mutex
	member string // address picked last
	others bool   // other members are left to pick
}

type tryKey struct{}

func (t *try) choose(addr string, others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.member, t.others = addr, others
}

// chosen returns the member that was picked last, and whether other members are left to pick.
func (t *try) chosen() (addr string, others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.member, t.others
}
