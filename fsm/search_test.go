package fsm

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The exhaustive search: two workers, two processes, eight ticks, and every order of
// a small alphabet of steps up to some depth. It looks at the same things as the
// random walks, in a form that is quick to copy and to compare. What differs only in
// the numbers of the log indexes counts as the same state.

const (
	searchUnit  = 1000 // ms a tick
	searchTicks = 8
	searchTimes = 3 // clocks show tick 0, 1 or 2, in any order
)

var searchLayout = snowflake.MustNew(snowflake.Spec{
	Name: "small", UnitMillis: searchUnit, Fields: []snowflake.FieldBits{
		{Field: snowflake.Time, Bits: 3}, {Field: snowflake.Worker, Bits: 1}, {Field: snowflake.Sequence, Bits: 1},
	},
})

// searchClaim is an extension or release that a process sent; it stays in the log's
// inbox, so that it can come late and several times.
type searchClaim struct {
	sent          bool
	worker, token uint64
	start         uint8
	until, next   int64
}

type searchLane struct {
	open             bool
	worker, token    uint64
	from, until, pos int64
}

type searchProcess struct {
	start           uint8
	lane            searchLane
	extend, release searchClaim
}

// searchGhost is what the audit knows of a worker.
type searchGhost struct {
	high, from, token uint64
	process, start    uint8
	used, released    bool
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
	}
	used int
}

type search struct {
	adversary
	seen  map[searchKey]int // with how many steps left
	path  []searchStep
	nodes int
}

type searchStep struct {
	action  string
	process int
	tick    int // of the clock
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
			Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		},
	}}})
	s := &search{adversary: a, seen: map[searchKey]int{}}
	err = s.visit(root, 3, depth)
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
				} else if _, told := errors.AsType[searchFailure](err); !told {
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
	times int // how many clock readings to try
	do    func(n *searchNode, s *search, p int, time int64, index uint64) (next *searchNode, err error)
}{
	{"acquire", searchTimes, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.acquire(s, p, time, index, true)
	}},
	{"acquire, answer lost", 1, func(n *searchNode, s *search, p int, time int64, index uint64) (*searchNode, error) {
		return n.acquire(s, p, time, index, false)
	}},
	{"send extend", 1, (*searchNode).sendExtend},
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

func (n *searchNode) acquire(s *search, p int, time int64, index uint64, answered bool) (*searchNode, error) {
	n = n.clone(true)
	q := &n.processes[p]
	window := int64(2 - p) // so that windows of the two can end at the same tick
	r := n.fsm.Apply(index, 0, &commandv1.Command{NowMs: time * searchUnit, Body: &commandv1.Command_AcquireWorker{
		AcquireWorker: &commandv1.AcquireWorker{
			Layout: "small", Holder: searchHolders[p], Nonce: searchNonce(p, q.start), WindowMs: window * searchUnit,
		},
	}})
	if r.Err != nil {
		return nil, nil
	}
	g := r.Grant
	if g.Worker > 1 || g.From < 0 || g.From >= g.Until || g.Until > searchTicks {
		return n, violated("range", "%+v", g)
	}
	ghost := &n.ghosts[g.Worker]
	if !s.idsOnly && (ghost.granted|ghost.issued)&ticksMask(g.From, g.Until) != 0 {
		return n, violated("cell", "%+v was granted before", g)
	}
	ghost.high, ghost.from, ghost.token = uint64(g.Until), uint64(g.From), g.Token
	ghost.process, ghost.start, ghost.used, ghost.released = uint8(p), q.start, true, false
	ghost.granted |= ticksMask(g.From, g.Until)
	if answered {
		q.lane = searchLane{open: true, worker: g.Worker, token: g.Token, from: g.From, until: g.Until, pos: g.From}
	}
	return n, n.compare(s)
}

func (n *searchNode) sendExtend(_ *search, p int, _ int64, _ uint64) (*searchNode, error) {
	q := &n.processes[p]
	claim := searchClaim{true, q.lane.worker, q.lane.token, q.start, q.lane.until, 0}
	if !q.lane.open || q.extend == claim {
		return nil, nil
	}
	n = n.clone(false)
	n.processes[p].extend = claim
	return n, nil
}

func (n *searchNode) applyExtend(s *search, p int, time int64, index uint64, answered bool) (*searchNode, error) {
	c := n.processes[p].extend
	if !c.sent {
		return nil, nil
	}
	n = n.clone(true)
	q := &n.processes[p]
	q.extend.sent = !s.noRepeat
	r := n.fsm.Apply(index, 0, &commandv1.Command{NowMs: time * searchUnit, Body: &commandv1.Command_ExtendWindow{
		ExtendWindow: &commandv1.ExtendWindow{
			Layout: "small", Worker: c.worker, Token: c.token, Nonce: searchNonce(p, c.start), Until: c.until, WindowMs: 2 * searchUnit,
		},
	}})
	waiting := answered && q.lane.open && q.lane.token == c.token && q.lane.until == c.until
	if r.Err != nil {
		if !waiting {
			return nil, nil
		}
		q.lane = searchLane{}
		return n, nil
	}
	ghost := &n.ghosts[c.worker]
	if !s.idsOnly && !n.true(p, c) {
		return n, violated("owner", "%+v was extended to %+v", c, r.Grant)
	}
	if uint64(r.Grant.Until) > ghost.high {
		if more := ticksMask(int64(ghost.high), r.Grant.Until); !s.idsOnly && (ghost.granted|ghost.issued)&more != 0 {
			return n, violated("cell", "%+v was granted before", r.Grant)
		}
		ghost.granted |= ticksMask(int64(ghost.high), r.Grant.Until)
		ghost.high = uint64(r.Grant.Until)
	}
	if waiting {
		q.lane.until = r.Grant.Until
	}
	return n, n.compare(s)
}

func (n *searchNode) sendRelease(_ *search, p int, _ int64, _ uint64) (*searchNode, error) {
	if !n.processes[p].lane.open {
		return nil, nil
	}
	n = n.clone(false)
	q := &n.processes[p]
	q.release = searchClaim{true, q.lane.worker, q.lane.token, q.start, q.lane.until, q.lane.pos}
	q.lane = searchLane{}
	return n, nil
}

func (n *searchNode) applyRelease(s *search, p int, _ int64, index uint64) (*searchNode, error) {
	c := n.processes[p].release
	if !c.sent {
		return nil, nil
	}
	n = n.clone(true)
	n.processes[p].release.sent = !s.noRepeat
	r := n.fsm.Apply(index, 0, &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: &commandv1.ReleaseWorker{
		Layout: "small", Worker: c.worker, Token: c.token, Nonce: searchNonce(p, c.start), Until: c.until, Next: c.next,
	}}})
	if r.Err != nil {
		return nil, nil
	}
	ghost := &n.ghosts[c.worker]
	if !s.idsOnly && !n.true(p, c) {
		return n, violated("owner", "%+v was released", c)
	}
	ghost.granted &^= ticksMask(c.next, searchTicks)
	ghost.high, ghost.released = uint64(c.next), true
	return n, n.compare(s)
}

// issue issues every ID of the lane's next tick.
func (n *searchNode) issue(s *search, p int, _ int64, _ uint64) (*searchNode, error) {
	if l := &n.processes[p].lane; !l.open || l.pos >= l.until {
		return nil, nil
	}
	n = n.clone(false)
	l := &n.processes[p].lane
	ghost, bit := &n.ghosts[l.worker], ticksMask(l.pos, l.pos+1)
	switch {
	case ghost.issued&bit != 0:
		return n, violated("duplicate", "worker %d, tick %d", l.worker, l.pos)
	case !s.idsOnly && ghost.granted&bit == 0:
		return n, violated("owner", "worker %d, tick %d was not granted", l.worker, l.pos)
	}
	ghost.issued |= bit
	l.pos++
	return n, nil
}

func (n *searchNode) crash(_ *search, p int, _ int64, _ uint64) (*searchNode, error) {
	if n.processes[p].start > 0 {
		return nil, nil
	}
	n = n.clone(false)
	q := &n.processes[p]
	q.start, q.lane = q.start+1, searchLane{}
	return n, nil
}

// true reports whether a claim is true: the current token, start and end.
func (n *searchNode) true(p int, c searchClaim) bool {
	g := &n.ghosts[c.worker]
	return g.used && !g.released && g.token == c.token && g.high == uint64(c.until) && int(g.process) == p && g.start == c.start
}

// compare compares the state machine's workers with the audit's.
func (n *searchNode) compare(s *search) error {
	if s.idsOnly {
		return nil
	}
	for number := range n.used() {
		k, g := &n.used()[number], &n.ghosts[number]
		if uint64(k.highWater) != g.high || k.token != g.token || k.released != g.released || uint64(k.from) != g.from {
			return violated("high-water", "%+v, expected %+v", *k, *g)
		}
	}
	return nil
}

func (n *searchNode) used() []worker { return n.fsm.layouts["small"].workers.used }

// clone copies the node, and its state machine only if that is going to change.
func (n *searchNode) clone(deep bool) *searchNode {
	next := *n
	if deep {
		next.fsm = cloneState(n.fsm)
	}
	return &next
}

func cloneState(s *State) *State {
	next := *s
	next.sequences = s.sequences.clone()
	next.layouts = make(map[string]*layout, len(s.layouts))
	for name, l := range s.layouts {
		one := *l
		one.workers.used = slices.Clone(l.workers.used)
		one.workers.byAge = slices.Clone(l.workers.byAge)
		one.workers.held = maps.Clone(l.workers.held)
		one.history = l.history.clone()
		next.layouts[name] = &one
	}
	return &next
}

func (n *searchNode) key() searchKey {
	k := searchKey{processes: n.processes, ghosts: n.ghosts, used: len(n.used())}
	var tokens []*uint64
	for i := range 2 {
		tokens = append(tokens, &k.processes[i].lane.token, &k.processes[i].extend.token, &k.processes[i].release.token, &k.ghosts[i].token)
	}
	for i := range min(2, len(n.used())) {
		from, to := &n.used()[i], &k.workers[i]
		to.high, to.from, to.token, to.released = from.highWater, from.from, from.token, from.released
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

func searchNonce(p int, start uint8) []byte {
	nonce := make([]byte, nonceBytes)
	nonce[0], nonce[1] = byte(p), start
	return nonce
}

// ticksMask has the bits of the ticks [from, until).
func ticksMask(from, until int64) uint8 { return uint8(1<<until - 1<<from) }

var searchDepth = flag.Int("fsm.depth", 7, "how many steps the exhaustive search goes")

func TestSearch(t *testing.T) {
	depth := *searchDepth
	if testing.Short() {
		depth = min(depth, 6)
	}
	nodes, err := explore(depth, adversary{})
	t.Logf("%d states within %d steps", nodes, depth)
	if err != nil {
		t.Fatal(err)
	}
}
