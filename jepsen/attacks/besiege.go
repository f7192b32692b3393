package attacks

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Target holds the addresses of a member's ports.
type Target struct{ API, HTTP, Raft, Gossip, Redis string }

// Siege is hostile traffic on all ports of some members.
type Siege struct {
	Targets []Target
	// Sources are the strangers' addresses on this host; if empty, the kernel chooses the address.
	Sources []string
	// Only lists the names of the acts to make; empty means all.
	Only []string
	// Secured means that the ports speak TLS.
	Secured bool
	// Token is a valid token without any right; may be empty.
	Token string
	// Captured contains gossip datagrams between members.
	Captured [][]byte
	Seed     uint64
}

const (
	// strangers is the number of strangers that act at a time. pause is the time between two acts of a stranger. Both limit
	// the load, because the members need processor time of the same machine.
	strangers = 16
	pause     = 40 * time.Millisecond
	// An act that keeps connections open lasts at least shortest and at most longest. The logarithm of its duration is
	// uniformly distributed.
	shortest, longest = 50 * time.Millisecond, 5 * time.Second
)

// act is one kind of hostile traffic.
type act struct {
	name    string
	weight  int  // relative frequency
	secured bool // applies to secured members only; an open member would serve it
	do      func(v visit, ctx context.Context)
}

// visit is one act on one member.
type visit struct {
	Siege
	*rand.Rand
	Target
}

// acts returns all acts.
func acts() []act {
	return []act{
		{"garbage", 8, false, visit.garbage},
		{"flood", 4, false, visit.flood},
		{"half-handshakes", 4, false, visit.halfHandshakes},
		{"drip", 4, false, visit.drip},

		{"silent-calls", 4, false, visit.silentCalls},
		{"open-streams", 3, false, visit.openStreams},
		{"watches", 3, false, visit.watches},
		{"rapid-reset", 4, false, visit.rapidReset},
		{"control-frames", 4, false, visit.controlFrames},
		{"huge-headers", 2, false, visit.hugeHeaders},
		{"powerless-calls", 4, true, visit.powerlessCalls},
		{"later-tokens", 4, true, visit.laterTokens},
		{"rebind", 2, false, visit.rebind},
		{"http-calls", 4, false, visit.httpCalls},

		{"redis-halves", 4, false, visit.redisHalves},
		{"redis-auth", 4, true, visit.redisAuth},

		{"gossip-noise", 4, false, visit.gossipNoise},
		{"gossip-replay", 4, false, visit.gossipReplay},
		{"gossip-exchanges", 3, false, visit.gossipExchanges},
		{"gossip-bomb", 1, false, visit.gossipBomb},
		{"short-versions", 1, false, visit.shortVersions},
		{"million-nodes", 3, false, visit.millionNodes},

		{"raft-handshake", 4, false, visit.raftHandshake},
		{"raft-secret", 4, true, visit.raftSecret},
	}
}

// Kinds returns the names of the acts that Lay makes.
func (s Siege) Kinds() []string {
	var names []string
	for _, a := range s.fitting() {
		names = append(names, a.name)
	}
	return names
}

// fitting returns the acts of Only that fit the members.
func (s Siege) fitting() []act {
	var fitting []act
	for _, a := range acts() {
		if (s.Secured || !a.secured) && (len(s.Only) == 0 || slices.Contains(s.Only, a.name)) {
			fitting = append(fitting, a)
		}
	}
	return fitting
}

// Lay makes random acts until ctx ends, and returns the number of each act.
func (s Siege) Lay(ctx context.Context) map[string]uint64 {
	var drawn []act // each act weight times
	for _, a := range s.fitting() {
		for range a.weight {
			drawn = append(drawn, a)
		}
	}
	var mu sync.Mutex
	counts := make(map[string]uint64)
	var wg sync.WaitGroup
	for i := range strangers {
		r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		wg.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				a := drawn[r.IntN(len(drawn))]
				s.make(ctx, a, r)
				mu.Lock()
				counts[a.name]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts
}

// make makes one act on a random target, from one of the sources.
func (s Siege) make(ctx context.Context, a act, r *rand.Rand) {
	lasts := float64(shortest) * math.Pow(float64(longest)/float64(shortest), r.Float64())
	ctx, cancel := context.WithTimeout(ctx, time.Duration(lasts))
	defer cancel()
	v := visit{Siege: s, Rand: r, Target: s.Targets[r.IntN(len(s.Targets))]}
	a.do(v, v.from(ctx))
}

// from returns a context whose connections come from one of the sources.
func (v visit) from(ctx context.Context) context.Context {
	if len(v.Sources) == 0 {
		return ctx
	}
	return From(ctx, v.Sources[v.IntN(len(v.Sources))])
}

// port returns the address of a random port.
func (v visit) port() string {
	ports := []string{v.API, v.HTTP, v.Raft, v.Target.Gossip, v.Redis}
	return ports[v.IntN(len(ports))]
}

// noise returns from 1 to most random bytes.
func (v visit) noise(most int) []byte {
	b := make([]byte, 1+v.IntN(most))
	for i := range b {
		b[i] = byte(v.Uint32() & 0xff)
	}
	return b
}
