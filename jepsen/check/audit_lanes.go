package check

import (
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// grantKey names a window. Its token would do except for a member that has it wrong.
type grantKey struct {
	lane  raftlog.Lane
	token uint64
}

// grantModel is a window, with all ends that its holder may have been told of.
type grantModel struct {
	from   int64
	holder string
	nonce  nonce
	ends   []int64
}

// lanes checks that what a member holds is what the log granted it: the window of each lane,
// with an end that was granted, to this start of it. Here a product shows that granted what this build
// would have refused, without a checkpoint.
func (a *statusAudit) lanes(s *history.Status) {
	if a.log.Final == 0 || s.Return > a.log.FinalAt {
		return // what it was granted may not have been harvested
	}
	for _, lane := range s.Lanes {
		if lane.Token == 0 {
			continue // it holds nothing
		}
		a.v.Facts[factLanes]++
		key := grantKey{raftlog.Lane{Layout: lane.Layout, Worker: lane.Worker}, lane.Token}
		g := a.windows.grants[key]
		wrong := func(why string, args ...any) {
			a.v.fail("%s (start %d) said that it holds worker %d of layout %q under token %d, ticks %d to %d: "+why,
				append([]any{s.Member, s.Start, lane.Worker, lane.Layout, lane.Token, lane.From, lane.Until}, args...)...)
		}
		switch {
		case g == nil:
			wrong("the log grants no such window")
		case g.from != lane.From || !slices.Contains(g.ends, lane.Until):
			wrong("the log grants it from %d to an end of %v", g.from, g.ends)
		case holderName(g.holder) != s.Member:
			wrong("the log grants it to %s", g.holder)
		case !a.belongs(s.Start, g.nonce):
			wrong("its nonce is %v, and start %d's is %v", g.nonce, s.Start, a.nonces[s.Start])
		}
	}
}

// belongs reports whether a start has a nonce: the first that it is seen with.
func (a *statusAudit) belongs(start uint32, n nonce) bool {
	if start == 0 {
		return true
	}
	if known, ok := a.nonces[start]; ok {
		return known == n
	}
	a.nonces[start] = n
	return true
}
