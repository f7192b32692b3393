package check

import (
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// auditTold checks that the log grants the windows that clients received which request windows themselves.
func auditTold(r *Run, a *audit) error {
	for op, err := range r.Ops() {
		if err != nil {
			return err
		}
		if op.Grant == nil || op.Outcome != history.OK {
			continue
		}
		if log := a.lives[r.lifeAt(op.Call)-1].log; log.Final == 0 || op.Return > log.FinalAt {
			continue // grant perhaps not harvested
		}
		a.v.Facts[factTold]++
		lane := op.Grant
		g := a.windows.grants[grantKey{raftlog.Lane{Layout: lane.Layout, Worker: lane.Worker}, lane.Token}]
		wrong := func(why string, args ...any) {
			a.v.fail("operation %d of client %d (%s), answered by %s (start %d), received worker %d of layout %q under token %d, "+
				"ticks %d to %d: "+why, append([]any{
				op.ID, op.Client, op.Do, op.Member, op.Start, lane.Worker, lane.Layout, lane.Token, lane.From, lane.Until,
			}, args...)...)
		}
		switch {
		case g == nil:
			wrong("the log grants no such window")
		case g.from != lane.From || !slices.Contains(g.ends, lane.Until):
			wrong("the log grants this window from %d with the ends %v", g.from, g.ends)
		}
	}
	return nil
}
