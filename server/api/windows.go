package api

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	// maxWindowRows is the maximum number of rows of an overview, and of earlier windows on the workers of the rows.
	maxWindowRows = 64
	// workersAtOnce is the number of workers that are read in one lock of the state. Commands wait for that time, about 0.1 ms.
	workersAtOnce = 1024
	// earlierFor is the maximum time since the end of an earlier window on the worker of a row.
	earlierFor = 10 * 60 * 1000 // ms
	// restFactor times the time of a computation of windows is the time for which these windows are reused. The computation
	// usually takes 1 ms, and 50 ms for 1,000,000 used workers.
	restFactor = 20
)

// windowsCache holds the windows of the watched layouts. All callers share them. Their computation takes at most 1/restFactor
// of a core per layout.
type windowsCache struct {
	mu       sync.Mutex
	byLayout map[string]*cachedWindows
}

// cachedWindows holds windows and the overview that contains them.
type cachedWindows struct {
	of       *snowraftv1.Overview // without windows
	overview *snowraftv1.Overview
	windows  *snowraftv1.LayoutWindows
	until    int64 // clock.Reading.Mono in ms until which newer overviews reuse windows
}

// withWindows returns an overview with the windows of a layout, or o if layout is empty.
func (s *Services) withWindows(o *snowraftv1.Overview, layout string) (*snowraftv1.Overview, error) {
	if layout == "" {
		return o, nil
	}
	l, ok := s.Member.State().Layout(layout)
	if !ok {
		return nil, &member.UnknownLayoutError{Layout: layout}
	}
	c := &s.windows
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := c.byLayout[layout]
	if cached != nil && cached.of == o {
		return cached.overview, nil
	}
	clock := s.Member.Clock()
	began := clock.Now().Mono
	next := &cachedWindows{of: o}
	if cached != nil && began < cached.until {
		next.windows, next.until = cached.windows, cached.until
	} else {
		next.windows = layoutWindows(s.Member.State(), l, o.GetMembers(), o.GetComposedAtMs())
		ended := clock.Now().Mono
		next.until = ended + restFactor*(ended-began)
	}
	next.overview = &snowraftv1.Overview{
		ClusterId: o.GetClusterId(), ComposedBy: o.GetComposedBy(), ComposedAtMs: o.GetComposedAtMs(), Verdict: o.GetVerdict(),
		LeaderId: o.GetLeaderId(), LeaderName: o.GetLeaderName(), Term: o.GetTerm(), Quorum: o.GetQuorum(),
		ObservedClockAtMs: o.GetObservedClockAtMs(), WaitThresholdMs: o.GetWaitThresholdMs(), MaxClockOffsetMs: o.GetMaxClockOffsetMs(),
		Members: o.GetMembers(), Layouts: o.GetLayouts(), Windows: next.windows,
	}
	if c.byLayout == nil {
		c.byLayout = make(map[string]*cachedWindows)
	}
	c.byLayout[layout] = next
	return next.overview, nil
}

// layoutWindows returns the granted windows of a layout in a replica at now, Unix ms. It matches the holders with members. The
// lanes of the members supply the positions.
func layoutWindows(replica *fsm.Machine, l *snowflake.Layout, members []*snowraftv1.MemberView, now int64) *snowraftv1.LayoutWindows {
	w := &windowsOf{layout: l, now: now, lanes: lanesOf(l.Name(), members), members: members}
	used := uint64(0)
	replica.View(func(s *fsm.State) {
		if info, ok := s.LayoutInfo(l.Name()); ok {
			used = info.Used
		}
	})
	for from := uint64(0); from < used; from += workersAtOnce {
		replica.View(func(s *fsm.State) {
			s.EachWorker(l.Name(), from, int(min(workersAtOnce, used-from)), w.add)
		})
	}
	rows := w.rows()
	message := &snowraftv1.LayoutWindows{
		Layout: l.Name(), Workers: l.Workers(), Used: used, Held: w.held, Rows: rows, TickMs: l.Spec().UnitMillis,
	}
	replica.View(func(s *fsm.State) { message.Earlier = w.earlier(s, rows) })
	return message
}

// claim is the window that a lane of a member reports.
type claim struct {
	member   string // ID
	position int64  // Unix ms; 0 if unknown
}

// grantKey identifies a grant by its worker and token.
type grantKey struct{ worker, token uint64 }

// lanesOf returns the claims of the members' lanes of a layout.
func lanesOf(layout string, members []*snowraftv1.MemberView) map[grantKey]claim {
	claims := make(map[grantKey]claim)
	for _, m := range members {
		for _, lane := range m.GetLanes() {
			if lane.GetLayout() == layout && lane.GetToken() != 0 {
				claims[grantKey{lane.GetWorker(), lane.GetToken()}] = claim{m.GetMember().GetId(), lane.GetPositionAtMs()}
			}
		}
	}
	return claims
}

// windowsOf collects the workers of a layout. Only one goroutine may use it.
type windowsOf struct {
	layout  *snowflake.Layout
	now     int64 // Unix ms
	lanes   map[grantKey]claim
	members []*snowraftv1.MemberView

	held uint64

	byMembers, byOthers, ended []*snowraftv1.WorkerWindow // each at most maxWindowRows; ended sorted by end, latest first
}

// add counts a worker if it is held, and keeps it if a row may show it.
func (w *windowsOf) add(r *fsm.WorkerRecord) {
	until := w.layout.MillisAt(r.Until)
	if r.Released || until <= w.now {
		w.keepEnded(r, until)
		return
	}
	w.held++
	rows := &w.byOthers
	if id, _ := w.lane(&r.GrantRecord); id != "" {
		rows = &w.byMembers
	}
	if len(*rows) < maxWindowRows {
		row := w.row(&r.GrantRecord)
		row.Held = true
		*rows = append(*rows, row)
	}
}

// keepEnded keeps a worker while its window is one of the maxWindowRows windows that ended last.
func (w *windowsOf) keepEnded(r *fsm.WorkerRecord, until int64) {
	if len(w.ended) == maxWindowRows && until <= w.ended[maxWindowRows-1].GetUntilAtMs() {
		return
	}
	at, _ := slices.BinarySearchFunc(w.ended, until, func(e *snowraftv1.WorkerWindow, until int64) int {
		return cmp.Compare(until, e.GetUntilAtMs())
	})
	w.ended = slices.Insert(w.ended[:min(len(w.ended), maxWindowRows-1)], at, w.row(&r.GrantRecord))
}

// rows returns at most maxWindowRows rows: workers that members hold, then other held workers, both by worker number, then the
// windows that ended last.
func (w *windowsOf) rows() []*snowraftv1.WorkerWindow {
	all := slices.Concat(w.byMembers, w.byOthers, w.ended)
	return all[:min(len(all), maxWindowRows)]
}

// row returns the message of a grant.
func (w *windowsOf) row(r *fsm.GrantRecord) *snowraftv1.WorkerWindow {
	until := w.layout.MillisAt(r.Until)
	row := &snowraftv1.WorkerWindow{
		Worker: r.Worker, Holder: r.Holder, Token: r.Token, FromAtMs: w.layout.MillisAt(r.From), UntilAtMs: until, HighWaterAtMs: until,
	}
	row.Process = processMessage(r.Process)
	row.MemberId, row.PositionAtMs = w.lane(r)
	return row
}

// lane returns the ID of the member that holds a grant, and the position of its lane in Unix ms. The ID is empty if the holder
// is not a member; the position is 0 if unknown.
func (w *windowsOf) lane(r *fsm.GrantRecord) (memberID string, position int64) {
	if c, ok := w.lanes[grantKey{r.Worker, r.Token}]; ok {
		return c.member, c.position
	}
	if r.Owner != 0 { // holders with an API token are applications
		return "", 0
	}
	return w.memberNamed(r.Holder), 0
}

// memberNamed returns the ID of the member in a holder's name; empty if there is no such member. It also finds members that do
// not answer, which still hold their workers. Lanes of a member are named "NAME/LANE".
func (w *windowsOf) memberNamed(holder string) string {
	at := strings.LastIndexByte(holder, '/')
	if at < 0 {
		return ""
	}
	for _, m := range w.members {
		if m.GetMember().GetName() == holder[:at] {
			return m.GetMember().GetId()
		}
	}
	return ""
}

// earlier returns the windows on the workers of rows that ended within earlierFor under earlier tokens, newest first. They show
// that the windows of one worker never overlap.
func (w *windowsOf) earlier(s *fsm.State, rows []*snowraftv1.WorkerWindow) []*snowraftv1.WorkerWindow {
	current := make(map[uint64]uint64, len(rows)) // tokens by worker
	for _, r := range rows {
		current[r.GetWorker()] = r.GetToken()
	}
	var earlier []*snowraftv1.WorkerWindow
	s.EachGrant(w.layout.Name(), func(r *fsm.GrantRecord) {
		token, ok := current[r.Worker]
		if !ok || r.Token >= token || len(earlier) == maxWindowRows || w.layout.MillisAt(r.Until) < w.now-earlierFor {
			return
		}
		earlier = append(earlier, w.row(r))
	})
	return earlier
}
