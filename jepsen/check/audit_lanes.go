package check

import (
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// grantKey identifies a window. The token alone is unique, but a member may report it with the wrong worker.
type grantKey struct {
	lane  raftlog.Lane
	token uint64
}

// grantModel is a window with all its granted ends.
type grantModel struct {
	from   int64
	holder string
	nonce  nonce
	ends   []int64
}

// lanes checks that the log granted the window of each lane in a status to this start of the member, with the reported
// end. Without a checkpoint, this check detects members that grant windows that this build refuses.
func (a *statusAudit) lanes(s *history.Status) {
	if a.log.Final == 0 || s.Return > a.log.FinalAt {
		return // grants perhaps not harvested
	}
	for _, lane := range s.Lanes {
		if lane.Token == 0 {
			continue // lane without a window
		}
		a.v.Facts[factLanes]++
		key := grantKey{raftlog.Lane{Layout: lane.Layout, Worker: lane.Worker}, lane.Token}
		g := a.windows.grants[key]
		wrong := func(why string, args ...any) {
			a.v.fail("%s (start %d) reported that it holds worker %d of layout %q under token %d, ticks %d to %d: "+why,
				append([]any{s.Member, s.Start, lane.Worker, lane.Layout, lane.Token, lane.From, lane.Until}, args...)...)
		}
		switch {
		case g == nil:
			wrong("the log grants no such window")
		case g.from != lane.From || !slices.Contains(g.ends, lane.Until):
			wrong("the log grants this window from %d with the ends %v", g.from, g.ends)
		case holderName(g.holder) != s.Member:
			wrong("the log grants this window to %s", g.holder)
		case !a.belongs(s.Start, g.nonce):
			wrong("the window's nonce is %v, but the nonce of start %d is %v", g.nonce, s.Start, a.nonces[s.Start])
		}
	}
}

// belongs reports whether a nonce belongs to a start. The first nonce seen with a start is the start's. Start 0 is
// unknown and matches every nonce.
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
