package client

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is what gRPC knows the balancer by.
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

// picker takes the connections to healthy members in turn, passing over members that the
// try of a call would rather not have.
type picker struct {
	ready []connection
	turn  atomic.Uint32
}

type connection struct {
	balancer.SubConn
	addr string
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t, ok := info.Ctx.Value(tryKey{}).(*try)
	first := int(p.turn.Add(1) % uint32(len(p.ready)))
	if !ok {
		return balancer.PickResult{SubConn: p.ready[first].SubConn}, nil
	}
	best, least, fresh := first, worst+1, 0
	for i := range p.ready {
		at := (first + i) % len(p.ready)
		objection := t.objection(p.ready[at].addr)
		if objection < avoided {
			fresh++
		}
		if objection < least {
			best, least = at, objection
		}
	}
	t.choose(p.ready[best].addr, least < avoided && fresh > 1)
	return balancer.PickResult{SubConn: p.ready[best].SubConn}, nil
}

// What a try may have against a member, from the least to the worst; they add up.
const (
	unlearned = 1 // no member knows this address: it may be another name of one that is known
	suspected = 2
	avoided   = 4
	worst     = unlearned + suspected + avoided
)

// try is one try of a call. It travels in the call's context.
type try struct {
	avoid    []string // addresses that were tried in this round
	standing *standing

	mu     sync.Mutex
	member string // the address that was picked
	others bool   // there were others to pick
}

type tryKey struct{}

func (t *try) within(ctx context.Context) context.Context { return context.WithValue(ctx, tryKey{}, t) }

func (t *try) objection(addr string) int {
	objection := t.standing.objection(addr)
	if slices.Contains(t.avoid, addr) {
		objection += avoided
	}
	return objection
}

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

// suspicion is how long a member that did not answer in time is asked only if no other is there.
const suspicion = 5 * time.Second

// standing is what is known of members beside their health, by their addresses.
type standing struct {
	learned  atomic.Pointer[map[string]bool] // nil: nothing was learned yet
	suspects sync.Map                        // address -> time.Time, until when
}

func (s *standing) learn(addrs []string) {
	learned := make(map[string]bool, len(addrs))
	for _, a := range addrs {
		learned[a] = true
	}
	s.learned.Store(&learned)
}

func (s *standing) suspect(addr string) { s.suspects.Store(addr, time.Now().Add(suspicion)) }

func (s *standing) objection(addr string) (objection int) {
	if learned := s.learned.Load(); learned != nil && !(*learned)[addr] {
		objection += unlearned
	}
	if until, ok := s.suspects.Load(addr); ok {
		if time.Now().Before(until.(time.Time)) {
			objection += suspected
		} else {
			s.suspects.Delete(addr)
		}
	}
	return objection
}
