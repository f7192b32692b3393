package api

import (
	"cmp"
	"slices"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// maxWindowRows is the most windows in an overview.
	maxWindowRows = 64
	// maxDensity is the most ranges of workers.
	maxDensity = 256
)

// withWindows returns an overview with the windows of a layout; the same overview if none is named.
func (s *Services) withWindows(o *snowraftv1.Overview, layout string) (*snowraftv1.Overview, error) {
	if layout == "" {
		return o, nil
	}
	l, ok := s.Member.State().Layout(layout)
	if !ok {
		return nil, &member.UnknownLayoutError{Layout: layout}
	}
	now := l.TickAt(o.GetComposedAtMs())
	w := &snowraftv1.LayoutWindows{Layout: layout, Workers: l.Workers(), TickMs: l.Spec().UnitMillis}
	var records []fsm.WorkerRecord
	s.Member.State().View(func(state *fsm.State) {
		if info, ok := state.LayoutInfo(layout); ok {
			w.Used = info.Used
			records = state.Workers(layout, 0, int(info.Used)) //nolint:gosec // at most 1<<22
		}
	})
	holds := func(r fsm.WorkerRecord) bool { return !r.Released && r.Until > now }
	w.Density = make([]uint32, min(len(records), maxDensity))
	for i, r := range records {
		if holds(r) {
			w.Held++
			w.Density[i*len(w.Density)/len(records)]++
		}
	}
	slices.SortStableFunc(records, func(a, b fsm.WorkerRecord) int {
		switch {
		case holds(a) != holds(b):
			if holds(a) {
				return -1
			}
			return 1
		case holds(a):
			return cmp.Compare(a.Worker, b.Worker)
		default:
			return cmp.Compare(b.Until, a.Until)
		}
	})
	lanes := lanesOf(o, layout)
	for _, r := range records[:min(len(records), maxWindowRows)] {
		row := &snowraftv1.WorkerWindow{
			Worker: r.Worker, Holder: r.Holder, Token: r.Token, FromAtMs: l.MillisAt(r.From), UntilAtMs: l.MillisAt(r.Until),
			HighWaterAtMs: l.MillisAt(r.Until), Held: holds(r),
		}
		if lane, ok := lanes[r.Token]; ok {
			row.MemberId, row.PositionAtMs = lane.id, lane.GetPositionAtMs()
		}
		w.Rows = append(w.Rows, row)
	}
	return &snowraftv1.Overview{
		ClusterId: o.GetClusterId(), ComposedBy: o.GetComposedBy(), ComposedAtMs: o.GetComposedAtMs(), Verdict: o.GetVerdict(),
		LeaderId: o.GetLeaderId(), LeaderName: o.GetLeaderName(), Term: o.GetTerm(), Quorum: o.GetQuorum(),
		ObservedClockAtMs: o.GetObservedClockAtMs(), WaitThresholdMs: o.GetWaitThresholdMs(), MaxClockOffsetMs: o.GetMaxClockOffsetMs(),
		Members: o.GetMembers(), Layouts: o.GetLayouts(), Windows: w,
	}, nil
}

// memberLane is a lane with the ID of its member.
type memberLane struct {
	*snowraftv1.Lane
	id string
}

// lanesOf returns the lanes of a layout by token.
func lanesOf(o *snowraftv1.Overview, layout string) map[uint64]memberLane {
	all := make(map[uint64]memberLane)
	for _, m := range o.GetMembers() {
		for _, l := range m.GetLanes() {
			if l.GetLayout() == layout && l.GetToken() != 0 {
				all[l.GetToken()] = memberLane{l, m.GetMember().GetId()}
			}
		}
	}
	return all
}
