package simtest

import (
	"fmt"
	"sync/atomic"

	"github.com/snowraft/snowraft/cluster"
)

// counts holds the numbers of what happened in a world, 0 at first.
type counts struct {
	elections, truncations, snapshots, judged atomic.Uint64
	raised                                    atomic.Uint64 // upgrades finalized
	rivals                                    atomic.Uint64 // deposed leaders to which a client brought the history of their successor in time
}

// end adds the counts of a process that stops.
func (c *counts) end(n *cluster.Node) {
	for _, won := range n.ElectionsWon() {
		c.elections.Add(won)
	}
	c.judged.Add(n.ClaimsJudged())
}

// add adds other counts.
func (c *counts) add(o *counts) {
	for to, from := range map[*atomic.Uint64]*atomic.Uint64{
		&c.elections: &o.elections, &c.truncations: &o.truncations, &c.snapshots: &o.snapshots, &c.judged: &o.judged, &c.rivals: &o.rivals, &c.raised: &o.raised,
	} {
		to.Add(from.Load())
	}
}

// lacks reports whether something never happened.
func (c *counts) lacks() bool {
	return min(c.elections.Load(), c.truncations.Load(), c.snapshots.Load(), c.judged.Load(), c.rivals.Load(), c.raised.Load()) == 0
}

func (c *counts) String() string {
	return fmt.Sprintf("%d elections, %d logs truncated, %d snapshots installed, %d claims judged, %d deposed leaders that heard of their successor from a client, %d upgrades finalized",
		c.elections.Load(), c.truncations.Load(), c.snapshots.Load(), c.judged.Load(), c.rivals.Load(), c.raised.Load())
}
