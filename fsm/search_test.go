package fsm

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The exhaustive search: two workers, two processes, eight ticks, and every order of
// a small alphabet of steps up to some depth. It checks the same rules as the random
// walks, in a form that is quick to copy and to compare. States that differ only in
// their log indexes count as one.

const (
	searchUnit  = 1000 // ms a tick
	searchTicks = 8
	searchTimes = 3 // clocks show tick 0, 1 or 2, in any order
)

var searchLayout = snowflake.MustNew(snowflake.Spec{
	Name: "small", UnitMillis: searchUnit, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 3}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	},
})

// searchClaim is an extension or release that a process sent; it stays in the log's
// inbox, so that it can come late and several times.
type searchClaim struct {
	sent          bool
	worker, token uint64
	start         uint8
	id            uint8
	until, next   int64
}

// searchClone is the ID that a copy of a process draws for an extension; the process itself
// draws 1 and 2 by turns.
const searchClone = 3

type searchLane struct {
	open             bool
	worker, token    uint64
	drawn            uint8
	from, until, pos int64
}

type searchProcess struct {
	start           uint8
	lane            searchLane
	extend, release searchClaim
}

// searchGhost is the audit's record of a worker.
type searchGhost struct {
	high, from, token uint64
	process, start    uint8
	used, released    bool
	id                uint8 // ID of the last extension under the token
	moved             int64 // the end that the last extension moved
	granted, issued   uint8 // a bit for each tick
}

// searchNode is a state of the whole; all but fsm is compared.
type searchNode struct {
	fsm       *State
	processes [2]searchProcess
	ghosts    [2]searchGhost
}

// searchKey is a node with the tokens replaced by their ranks.
type searchKey struct {
	processes [2]searchProcess
	ghosts    [2]searchGhost
	workers   [2]struct {
		high, from int64
		token      uint64
		released   bool
		extension  extension
	}
	used int
}

type search struct {
	adversary
	seen  map[searchKey]int // number of steps left
	path  []searchStep
	nodes int
}

type searchStep struct {
	action  string
	process int
	tick    int // clock
}

// explore returns the first violation within that many steps.
func explore(depth int, a adversary) (nodes int, err error) {
	root := &searchNode{fsm: NewState()}
	root.fsm.Apply(1, 0, &commandv1.Command{Body: &commandv1.Command_CreateLayout{
		CreateLayout: &commandv1.CreateLayout{Spec: LayoutSpec(searchLayout.Spec())},
	}})
	root.fsm.Apply(2, 0, &commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{
		Config: &commandv1.Config{
			MaxWindowMs: 2 * searchUnit, WaitThresholdMs: searchUnit, MaxClockOffsetMs: 500,
			Rollback:    commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
			Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
		},
	}}})
	root.fsm.Apply(3, 0, raise(Version)) // the lineage, which differs in each state, is not compared
	s := &search{adversary: a, seen: map[searchKey]int{}}
	err = s.visit(root, 4, depth)
	return s.nodes, err
}

func (s *search) visit(n *searchNode, index uint64, left int) error {
	if left == 0 {
		return nil
	}
	key := n.key()
	if s.seen[key] >= left {
		return nil
	}
	s.seen[key] = left
	s.nodes++
	for p := range 2 {
		for _, act := range searchActions {
			for time := range act.times {
				next, err := act.do(n, s, p, int64(time), index)
				if next == nil {
					continue
				}
				s.path = append(s.path, searchStep{act.name, p, time})
				if err == nil {
					err = s.visit(next, index+1, left-1)
				} else if _, reported := errors.AsType[searchFailure](err); !reported {
					err = searchFailure{err, fmt.Sprint(s.path)}
				}
				s.path = s.path[:len(s.path)-1]
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

type searchFailure struct {
	error
	path string
}

func (f searchFailure) Error() string { return f.error.Error() + " after " + f.path }
func (f searchFailure) Unwrap() error { return f.error }

// searchActions is the alphabet. An action returns the node after it, or nil if it
// has no effect in this one.
var searchActions = []struct {
	name  string
	times int // number of clock readings to try
	do    func(n *searchNode, s *search, p int, time int64, index uint64) (next *searchNode, err error)
}{
	{"acquire", searchTimes, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.acquire(s, p, time, index, true)
	}},
	{"acquire, answer lost", 1, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.acquire(s, p, time, index, false)
	}},
	{"send extend", 1, func(n *searchNode, _ *search, p int, _ int64, _ uint64) (*searchNode, error) {
		return n.sendExtend(p, n.processes[p].lane.drawn+1)
	}},
	{"clone and send extend", 1, func(n *searchNode, s *search, p int, _ int64, _ uint64) (*searchNode, error) {
		if s.noForge {
			return nil, nil
		}
		return n.sendExtend(p, searchClone)
	}},
	{"apply extend", searchTimes, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.applyExtend(s, p, time, index, true)
	}},
	{"apply extend, answer lost", 1, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.applyExtend(s, p, time+1, index, false)
	}},
	{"close and send release", 1, (*searchNode).sendRelease},
	{"apply release", 1, (*searchNode).applyRelease},
	{"issue", 1, (*searchNode).issue},
	{"crash", 1, (*searchNode).crash},
}

// clone copies the node, and its state machine only if the state machine will change.
func (n *searchNode) clone(deep bool) *searchNode {
	next := *n
	if deep {
		next.fsm = cloneState(n.fsm)
	}
	return &next
}

func cloneState(s *State) *State {
	next := *s
	next.scratch = nil
	next.lineage.leaderships, next.lineage.clocks = slices.Clip(s.lineage.leaderships), slices.Clip(s.lineage.clocks)
	next.sequences = s.sequences.clone()
	next.answers.queue, next.answers.place, next.answers.own = slices.Clip(s.answers.queue), maps.Clone(s.answers.place), maps.Clone(s.answers.own)
	for token, places := range next.answers.own {
		next.answers.own[token] = slices.Clip(places)
	}
	next.layouts = make(map[string]*layout, len(s.layouts))
	for name, l := range s.layouts {
		one := *l
		one.workers.roll = l.workers.clone()
		for i, h := range l.workers.byAge {
			one.workers.byAge[i] = slices.Clone(h)
		}
		one.workers.held = maps.Clone(l.workers.held)
		one.workers.ofToken = maps.Clone(l.workers.ofToken)
		for token, h := range one.workers.ofToken {
			one.workers.ofToken[token] = slices.Clone(h)
		}
		one.history, one.past = l.history.clone(), l.past.clone()
		next.layouts[name] = &one
	}
	return &next
}

func (n *searchNode) key() searchKey {
	k := searchKey{processes: n.processes, ghosts: n.ghosts, used: n.used().count()}
	var tokens []*uint64
	for i := range 2 {
		tokens = append(tokens, &k.processes[i].lane.token, &k.processes[i].extend.token, &k.processes[i].release.token, &k.ghosts[i].token)
	}
	for i := range min(2, n.used().count()) {
		from, to := n.used().see(i), &k.workers[i]
		to.high, to.from, to.token, to.released, to.extension = from.highWater, from.from, from.token, from.released, from.extension
		tokens = append(tokens, &to.token)
	}
	slices.SortFunc(tokens, func(a, b *uint64) int { return int(*a) - int(*b) })
	rank, last := uint64(0), uint64(0)
	for _, t := range tokens {
		if *t != last {
			rank, last = rank+1, *t
		}
		*t = rank
	}
	return k
}

var searchHolders = [2]string{"a/0", "b/0"}

func searchNonceHash(p int, start uint8) []byte {
	nonce := make([]byte, hashBytes)
	nonce[0], nonce[1] = byte(p), start
	return nonce
}

// ticksMask has the bits of the ticks [from, until).
func ticksMask(from, until int64) uint8 { return uint8(1<<until - 1<<from) }

var searchDepth = flag.Int("fsm.depth", depth.Of(depth.Little(4, 5), 7), "how many steps the exhaustive search goes")

func TestSearch(t *testing.T) {
	t.Parallel()
	nodes, err := explore(*searchDepth, adversary{})
	t.Logf("%d states within %d steps", nodes, *searchDepth)
	if err != nil {
		t.Fatal(err)
	}
}
