package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The steps of the exhaustive search, and the audit of each.

func (n *searchNode) acquire(s *search, p int, time int64, index uint64, answered bool) (*searchNode, error) {
	n = n.clone(true)
	q := &n.processes[p]
	window := int64(2 - p) // windows of both processes can end at the same tick
	r := n.fsm.Apply(index, 0, &commandv1.Command{ClockAtMs: time * searchUnit, Body: &commandv1.Command_AcquireWorker{
		AcquireWorker: &commandv1.AcquireWorker{
			Layout: "small", Holder: searchHolders[p], NonceHash: searchNonceHash(p, q.start), WindowMs: window * searchUnit,
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
	ghost.process, ghost.start, ghost.used, ghost.released, ghost.id, ghost.moved = uint8(p), q.start, true, false, 0, 0
	ghost.granted |= ticksMask(g.From, g.Until)
	if answered {
		q.lane = searchLane{open: true, worker: g.Worker, token: g.Token, from: g.From, until: g.Until, pos: g.From}
	}
	return n, n.compare(s)
}

func (n *searchNode) sendExtend(p int, id uint8) (*searchNode, error) {
	q := &n.processes[p]
	claim := searchClaim{true, q.lane.worker, q.lane.token, q.start, id, q.lane.until, 0}
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
	r := n.fsm.Apply(index, 0, &commandv1.Command{ClockAtMs: time * searchUnit, Body: &commandv1.Command_ExtendWindow{
		ExtendWindow: &commandv1.ExtendWindow{
			Layout: "small", Worker: c.worker, Token: c.token, NonceHash: searchNonceHash(p, c.start), UntilTick: c.until, WindowMs: 2 * searchUnit,
			ExtensionId: uint64(c.id),
		},
	}})
	ghost := &n.ghosts[c.worker]
	repeated := n.holds(p, c) && ghost.id == c.id && ghost.moved == c.until
	if r.Err != nil {
		if repeated && !s.idsOnly {
			return n, violated("rules", "%+v repeats the last extension and was refused: %v", c, r.Err)
		}
		return nil, nil // the holder keeps what it has until it acquires another worker
	}
	if !s.idsOnly && !repeated && !n.true(p, c) {
		return n, violated("owner", "%+v was extended to %+v", c, r.Grant)
	}
	if repeated && !s.idsOnly && uint64(r.Grant.Until) != ghost.high {
		return n, violated("rules", "%+v repeats the last extension and got %+v", c, r.Grant)
	}
	if !repeated {
		ghost.id, ghost.moved = c.id, int64(ghost.high)
	}
	if uint64(r.Grant.Until) > ghost.high {
		if more := ticksMask(int64(ghost.high), r.Grant.Until); !s.idsOnly && (ghost.granted|ghost.issued)&more != 0 {
			return n, violated("cell", "%+v was granted before", r.Grant)
		}
		ghost.granted |= ticksMask(int64(ghost.high), r.Grant.Until)
		ghost.high = uint64(r.Grant.Until)
	}
	if l := &q.lane; answered && c.id != searchClone && l.open && l.token == c.token && l.until == c.until && l.drawn+1 == c.id {
		l.until, l.drawn = r.Grant.Until, 1-l.drawn
	}
	return n, n.compare(s)
}

func (n *searchNode) sendRelease(_ *search, p int, _ int64, _ uint64) (*searchNode, error) {
	if !n.processes[p].lane.open {
		return nil, nil
	}
	n = n.clone(false)
	q := &n.processes[p]
	q.release = searchClaim{true, q.lane.worker, q.lane.token, q.start, 0, q.lane.until, q.lane.pos}
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
		Layout: "small", Worker: c.worker, Token: c.token, NonceHash: searchNonceHash(p, c.start), UntilTick: c.until, NextTick: c.next,
	}}})
	if r.Err != nil {
		return nil, nil
	}
	ghost := &n.ghosts[c.worker]
	if !s.idsOnly && !n.true(p, c) {
		return n, violated("owner", "%+v was released", c)
	}
	ghost.granted &^= ticksMask(c.next, searchTicks)
	ghost.high, ghost.released, ghost.id, ghost.moved = uint64(c.next), true, 0, 0
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

// holds reports whether a claim is made by the holder: the current token and start.
func (n *searchNode) holds(p int, c searchClaim) bool {
	g := &n.ghosts[c.worker]
	return g.used && !g.released && g.token == c.token && int(g.process) == p && g.start == c.start
}

// true reports whether a claim is true: that of the holder, with the current end.
func (n *searchNode) true(p int, c searchClaim) bool {
	return n.holds(p, c) && n.ghosts[c.worker].high == uint64(c.until)
}

// compare compares the state machine's workers with the audit's.
func (n *searchNode) compare(s *search) error {
	if s.idsOnly {
		return nil
	}
	for number := range n.used().count() {
		k, g := n.used().at(number), &n.ghosts[number]
		if uint64(k.highWater) != g.high || k.token != g.token || k.released != g.released || uint64(k.from) != g.from ||
			k.extension != (extension{uint64(g.id), g.moved}) {
			return violated("high-water", "%+v, expected %+v", *k, *g)
		}
	}
	return nil
}

func (n *searchNode) used() *roll { return &n.fsm.layouts["small"].workers.roll }
