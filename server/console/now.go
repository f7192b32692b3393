package console

import (
	"cmp"
	"context"
	"strings"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// nowPage shows whether the cluster works, its problems, and the state of each member.
var nowPage = &page{
	name: "now", path: "/", title: "Now", reload: 5 * time.Second, needsOverview: true,
	scopes: []trust.Scope{trust.RightReadCluster},
	load:   func(_ context.Context, _ *API, in *input) (any, error) { return nowOf(in.overview, in.what), nil },
}

// maxLanes is the largest number of lanes on the page. Each member has at least one lane per layout.
const maxLanes = 60

// now is the data of the page.
type now struct {
	What          string // "member" or "gateway"
	At            int64  // time of the overview, by the majority's clocks
	Leader        string
	Term          uint64
	Quorum        *snowraftv1.Quorum
	Needed        uint32 // number of voters for a quorum
	ServesUntil   int64
	Observed      int64
	ObservedAhead int64 // relative to At, ms
	Behind        int64 // lower limit of a clock's offset, negative; MaxOffset is the upper one, ms
	MaxOffset     int64
	IDs, Numbers  *float64
	Refusals      *float64
	Members       []memberRow
	Lanes         []laneRow
	MoreLanes     int
}

type memberRow struct {
	*snowraftv1.MemberView
	Name, Role string
	Self       bool  // this member composed the overview
	Heard      bool  // the member has answered at least once
	LostAtMs   int64 // time since which gossip does not reach a member that is not Heard; 0 if unknown
	State      level
	Detail     string // detail of the state; may be empty
	Clock      bar
}

// bar is the offset of a clock on a line from 0 to 100, with the limits at 10 and 90.
type bar struct {
	X, Width float64
	Over     bool
}

type laneRow struct {
	*snowraftv1.Lane
	Member string
	Stale  bool   // the member does not answer
	Detail string // the problem; empty without one
	Until  int64  // time until which the lane can issue IDs without quorum; 0: it issues none
	Left   int64  // ms until Until
	State  level
}

func nowOf(o *snowraftv1.Overview, what string) now {
	n := now{
		What: what,
		At:   o.GetComposedAtMs(), Leader: o.GetLeaderName(), Term: o.GetTerm(), Quorum: o.GetQuorum(),
		ServesUntil: o.GetVerdict().GetServesUntilAtMs(), Observed: o.GetObservedClockAtMs(),
		Behind: -o.GetWaitThresholdMs(), MaxOffset: o.GetMaxClockOffsetMs(),
	}
	n.Needed = n.Quorum.GetVoters()/2 + 1
	if n.Observed != 0 {
		n.ObservedAhead = n.Observed - n.At
	}
	for _, m := range o.GetMembers() {
		n.Members = append(n.Members, memberOf(o, m))
		for _, sum := range []struct{ to, of **float64 }{{&n.IDs, &m.IdsPerSecond}, {&n.Numbers, &m.NumbersPerSecond}, {&n.Refusals, &m.RefusalsPerSecond}} {
			if *sum.of != nil && m.GetAnswers() {
				total := **sum.of
				if *sum.to != nil {
					total += **sum.to
				}
				*sum.to = &total
			}
		}
		for _, l := range m.GetLanes() {
			if len(n.Lanes) == maxLanes {
				n.MoreLanes++
				continue
			}
			n.Lanes = append(n.Lanes, laneOf(o, m, l))
		}
	}
	return n
}

// InStep reports whether the observed clock is unknown or not ahead of the majority's clocks by more than their offset may be.
// It lags behind them, because it moves only when a leader records it.
func (n now) InStep() bool { return n.Observed == 0 || n.ObservedAhead <= n.MaxOffset }

func memberOf(o *snowraftv1.Overview, m *snowraftv1.MemberView) memberRow {
	row := memberRow{
		MemberView: m, Name: cmp.Or(m.GetMember().GetName(), m.GetMember().GetId()), Role: "Voter",
		Self: m.GetMember().GetName() == o.GetComposedBy(), Heard: m.GetSeenAtMs() != 0,
		Clock: barOf(m.GetClockOffsetMs(), o.GetWaitThresholdMs(), o.GetMaxClockOffsetMs()),
	}
	if !row.Heard && !m.GetMember().GetAlive() {
		row.LostAtMs = m.GetMember().GetNotAliveSinceAtMs()
	}
	if m.GetMember().GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER {
		row.Role = "Nonvoter"
	}
	switch {
	case m.GetAnswers() && m.GetProblem() == "":
		row.State = level{"good", "Issues IDs"}
	case m.GetAnswers():
		row.State = level{"bad", "Issues no IDs"}
	case m.GetDown():
		row.State = level{"bad", "Down"}
	default:
		row.State = level{"bad", "Does not answer"}
	}
	row.Detail = upperFirst(strings.TrimPrefix(m.GetProblem(), "is down: "))
	return row
}

// barOf returns the offset of a clock relative to its limits. behind and ahead are the largest allowed distances.
func barOf(offset, behind, ahead int64) bar {
	limit := max(1, ahead)
	if offset < 0 {
		limit = max(1, behind)
	}
	length := min(50, 40*float64(max(offset, -offset))/float64(limit))
	b := bar{X: 50, Width: max(length, 1), Over: length > 40}
	if offset < 0 {
		b.X -= b.Width
	}
	return b
}

func laneOf(o *snowraftv1.Overview, m *snowraftv1.MemberView, l *snowraftv1.Lane) laneRow {
	row := laneRow{Lane: l, Member: cmp.Or(m.GetMember().GetName(), m.GetMember().GetId()), Stale: !m.GetAnswers()}
	row.Until = l.GetServeUntilAtMs()
	if m.GetDown() {
		row.Until, row.State = 0, level{"bad", "Member is down"}
		return row
	}
	row.Left = row.Until - o.GetComposedAtMs()
	switch {
	case l.GetIdle():
		row.State = level{"none", "Idle"}
	case l.GetProblem() != "":
		row.State, row.Detail = level{"bad", "Issues no IDs"}, upperFirst(l.GetProblem())
	case row.Stale: // an extension of the window may be unknown here
		row.State = level{"warn", "Member does not answer"}
	case row.Left <= 0:
		row.State = level{"bad", "No window"}
	default:
		row.State = level{"good", "Issues IDs"}
	}
	return row
}

func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
