package simtest

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/receipt"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/trust"
)

var innocentHistories = flag.Int("simtest.histories", depth.Of(depth.Little(20, 80), 1000), "how many healthy histories are simulated")

const (
	// historiesOfWorld is the number of histories that one cluster lives through.
	historiesOfWorld = 20
	// enoughWorlds is the number of worlds in which everything surely happens.
	enoughWorlds = 4
)

// No healthy history is sealed, and no member of it halts, becomes a witness, or says that a disk was set back.
//
// A history is two mishaps of a cluster that begins and ends with all members in touch. Clients bring the receipts of all members
// to all members meanwhile. The histories of a world follow one another in one cluster and its successors. So receipts, watermarks
// and logs of earlier histories meet later ones, also across a restore. Each world has all kinds of mishaps.
func TestInnocents(t *testing.T) {
	t.Parallel()
	var all counts
	worlds := (*innocentHistories + historiesOfWorld - 1) / historiesOfWorld
	const together = 100 // a finished world holds its memory, until all worlds of its run have finished
	for first := 0; first < worlds; first += together {
		t.Run("worlds", func(t *testing.T) {
			for number := first; number < min(first+together, worlds); number++ {
				t.Run(fmt.Sprint(number), func(t *testing.T) {
					t.Parallel()
					simulateInnocents(t, uint64(number), &all)
				})
			}
		})
	}
	t.Logf("%d histories: %v", worlds*historiesOfWorld, &all)
	if worlds >= enoughWorlds && all.lacks() && !t.Failed() {
		t.Error("something never happened")
	}
}

// innocents is a world in which everything that happens is healthy.
type innocents struct {
	*world
	clients []*holder
	keys    map[*node]*trust.Keys
	secret  trust.Secret
	newest  uint32   // newest version that a machine supports
	used    uint32   // version in use
	deck    []func() // mishaps to come
}

// holder is a client with the latest receipt that it got.
type holder struct {
	name   string
	latest receipt.Latest
}

// answer is an answer with a receipt.
type answer []byte

func (a answer) GetReceipt() []byte { return a }

func simulateInnocents(t *testing.T, number uint64, all *counts) {
	o := options{
		number: number, idle: true, unaudited: true, maxWindow: 3 * time.Second, finalize: 3 * time.Second,
		timing: cluster.Timing{PromoteAfter: time.Second},
	}
	const now, before = fsm.Version, fsm.Version - 1
	o.supported = [][]uint32{{now, now, now}, {now, before, now}, {before, before, before}}[number%3]
	simulate(t, o, func(w *world) {
		i := &innocents{world: w, keys: make(map[*node]*trust.Keys), secret: trust.NewSecret(), newest: fsm.Version, used: w.leader().version()}
		for c := range 4 {
			i.clients = append(i.clients, &holder{name: fmt.Sprintf("client-%d", c)})
		}
		t.Cleanup(func() { all.add(&w.counts) })
		i.shuffle()
		for range historiesOfWorld {
			i.live()
		}
		w.untilAllIssue(2 * recovery)
		i.check(w.nodes...)
	})
}

// live lives through one history.
func (i *innocents) live() {
	i.Helper()
	for range 2 {
		i.deck[0]()
		i.deck = i.deck[1:]
		i.visits(3)
		i.pass(i.between(0, time.Second))
		i.check(i.nodes...)
	}
	i.net.heal()
	i.startAll()
	i.until(2*recovery, "all members follow", func() bool {
		leader := i.leaderNow()
		return leader != nil && !slices.ContainsFunc(i.nodes, func(n *node) bool {
			return n != leader && (n.proc() == nil || !n.proc().member.Node().InTouch())
		})
	})
	i.visits(2)
	i.check(i.nodes...)
	if used := i.leader().version(); used > i.used {
		i.used = used
		i.counts.raised.Add(1)
	}
}

// check fails the test if a member halted, is sealed or a witness, or says that something was set back.
func (i *innocents) check(nodes ...*node) {
	i.Helper()
	for _, n := range nodes {
		if err := n.failed(); err != nil {
			i.Fatalf("%s halted: %v", n.name, err)
		}
		p := n.proc()
		if p == nil || p.opened() == nil {
			continue
		}
		if s := p.member.State().Sealed(); s != nil {
			i.Fatalf("%s is sealed: %v", n.name, s)
		}
		if err := p.member.Node().Contradiction(); err != nil {
			i.Fatalf("%s is a witness: %v", n.name, err)
		}
		for _, e := range p.member.Events().List() {
			if strings.Contains(e.Text, "set back") || strings.Contains(e.Text, "cannot compare") {
				i.Fatalf("%s says: %s", n.name, e.Text)
			}
		}
	}
}

// visits lets clients connect to members. The last client seldom does.
func (i *innocents) visits(count int) {
	for range count {
		c := i.clients[min(i.rng.IntN(10)/3, len(i.clients)-1)]
		i.visit(c, i.nodes[i.rng.IntN(len(i.nodes))])
	}
}

// visit connects a client to a member: it brings its receipt, and gets the member's.
func (i *innocents) visit(c *holder, n *node) {
	p := n.proc()
	if p == nil || p.opened() == nil {
		return
	}
	receipts := trust.Receipts{Keys: i.keysOf(n)}
	if at, err := receipts.Check(c.latest.Bytes()); err == nil {
		p.member.Witness(at, c.name)
	}
	if at, ok := p.member.Position(); ok {
		c.latest.Keep(answer(receipts.Make(at)))
	}
}
