package check

import (
	"bytes"
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// windowModel is an independent implementation of the rules of layouts, windows, configuration and observed clock.
type windowModel struct {
	v        *Verdict
	layouts  map[string]layoutModel
	workers  map[raftlog.Lane]*workerModel
	grants   map[grantKey]*grantModel
	config   *commandv1.Config // nil until set
	observed int64             // observed clock; Unix ms
	floor    int64             // floor of a restored cluster; Unix ms, 0 for none
	jobs     map[raftlog.Lane]*jobModel
}

// workerModel is a worker with at least one window.
type workerModel struct {
	high     int64 // high-water: the end of all granted ticks
	from     int64 // first tick of the present window
	token    uint64
	nonce    []byte
	released bool
	earlier  bool       // last granted by an earlier cluster, and perhaps unknown to the present one
	id       uint64     // ID of the last extension under the token
	moved    int64      // end of the window before the last extension
	windows  [][2]int64 // first tick and final end of all windows
}

func newWindowModel(v *Verdict) *windowModel {
	return &windowModel{v: v, layouts: map[string]layoutModel{}, workers: map[raftlog.Lane]*workerModel{}, grants: map[grantKey]*grantModel{}, jobs: map[raftlog.Lane]*jobModel{}}
}

func (m *windowModel) take(e *raftlog.Applied) {
	switch body := e.Command.GetBody().(type) {
	case *commandv1.Command_CreateLayout:
		m.createLayout(e, body.CreateLayout.GetSpec())
	case *commandv1.Command_AcquireWorker:
		m.acquire(e, body.AcquireWorker)
	case *commandv1.Command_ExtendWindow:
		m.extend(e, body.ExtendWindow)
	case *commandv1.Command_ReleaseWorker:
		m.release(e, body.ReleaseWorker)
	case *commandv1.Command_StartBackfill:
		m.startJob(e, body.StartBackfill)
	case *commandv1.Command_ExtendBackfill:
		m.extendJob(e, body.ExtendBackfill)
	case *commandv1.Command_SetConfig:
		m.setConfig(e, body.SetConfig)
	case *commandv1.Command_ObserveClock:
		m.observe(e, body.ObserveClock)
	}
	if e.Result.Observed != m.observed && e.Result.Halted == nil {
		m.v.fail("after index %d, the observed clock is %d ms, expected %d ms", e.Index, e.Result.Observed, m.observed)
		m.observed = e.Result.Observed
	}
}

// acquire checks a new window. The window must start at the latest of the high-water, the proposer's clock and the fence
// of a restored cluster. It must end at most the maximum window after the proposer's clock.
func (m *windowModel) acquire(e *raftlog.Applied, c *commandv1.AcquireWorker) {
	if e.Result.Failure() != nil {
		return
	}
	grant, now := e.Result.Grant, e.Command.GetClockAtMs()
	l, ok := m.layouts[c.GetLayout()]
	if !ok {
		m.v.fail("index %d grants worker %d of layout %q, which does not exist", e.Index, grant.Worker, c.GetLayout())
		return
	}
	lane := raftlog.Lane{Layout: c.GetLayout(), Worker: grant.Worker}
	w := m.workers[lane]
	if w == nil {
		w = &workerModel{}
		m.workers[lane] = w
	}
	m.v.Facts[factWindows]++
	wrong := func(why string, args ...any) {
		m.v.fail("index %d grants worker %d of layout %q to %s, ticks %d to %d: "+why,
			append([]any{e.Index, grant.Worker, c.GetLayout(), c.GetHolder(), grant.From, grant.Until}, args...)...)
	}
	nowTick, fence := l.tickAt(now), m.fence(&l)
	begin := max(w.high, nowTick, fence)
	switch {
	case grant.Token != e.Index:
		wrong("its token is %d, expected the index", grant.Token)
	case grant.Worker >= l.workers:
		wrong("the layout has %d workers", l.workers)
	case grant.From < w.high:
		wrong("all ticks below %d were already granted", w.high)
	case grant.From < fence:
		wrong("this cluster was restored, and an earlier cluster may have granted all ticks below %d", fence)
	case grant.From != begin && !w.earlier:
		wrong("expected the first tick %d, the latest of the high-water %d, the proposer's clock %d and the fence %d",
			begin, w.high, nowTick, fence)
	case grant.Until <= grant.From || grant.Until > l.ticks:
		wrong("expected at least one tick and an end up to %d", l.ticks)
	case grant.Until > l.covering(now+m.maxWindow()):
		wrong("the end is more than %d ms after the proposer's clock, which is at tick %d", m.maxWindow(), nowTick)
	case m.behind(now):
		wrong("the proposer's clock is %d ms behind the observed clock", m.observed-now)
	}
	w.high, w.from, w.token, w.nonce, w.released, w.earlier, w.id = grant.Until, grant.From, grant.Token, c.GetNonceHash(), false, false, 0
	w.windows = append(w.windows, [2]int64{grant.From, grant.Until})
	g := &grantModel{from: grant.From, holder: c.GetHolder(), ends: []int64{grant.Until}}
	copy(g.nonce[:], c.GetNonceHash())
	m.grants[grantKey{lane, grant.Token}] = g
}

// claim is a command of a holder about its window.
type claim interface {
	GetLayout() string
	GetWorker() uint64
	GetToken() uint64
	GetNonceHash() []byte
	GetUntilTick() int64
}

// holds reports whether a claim comes from the present holder of the worker.
func (w *workerModel) holds(c claim) bool {
	return w != nil && !w.released && w.token == c.GetToken() && bytes.Equal(w.nonce, c.GetNonceHash())
}

// claimed returns the worker of a claim that is true and was accepted, and otherwise nil. It adds a failure if the state
// machine accepted a false claim, or refused a true one as a mismatch. do is the verb of the command.
func (m *windowModel) claimed(e *raftlog.Applied, do string, c claim) *workerModel {
	w := m.workers[raftlog.Lane{Layout: c.GetLayout(), Worker: c.GetWorker()}]
	isTrue := w.holds(c) && w.high == c.GetUntilTick()
	switch refused := e.Result.Err; {
	case refused == nil && !isTrue:
		m.v.fail("index %d %s worker %d of layout %q under token %d with end %d, which is not the present window",
			e.Index, do, c.GetWorker(), c.GetLayout(), c.GetToken(), c.GetUntilTick())
	case refused == nil:
		return w
	case refused.Reason == commandv1.Refusal_REFUSAL_WINDOW_MISMATCH && isTrue:
		m.v.fail("index %d refuses a command that %s worker %d of layout %q under token %d, which is the present window",
			e.Index, do, c.GetWorker(), c.GetLayout(), c.GetToken())
	}
	return nil
}

// extend checks an extension, or the answer to a repeated one.
func (m *windowModel) extend(e *raftlog.Applied, c *commandv1.ExtendWindow) {
	if w := m.workers[raftlog.Lane{Layout: c.GetLayout(), Worker: c.GetWorker()}]; w.holds(c) && w.id != 0 && w.id == c.GetExtensionId() && w.moved == c.GetUntilTick() {
		if got := e.Result.Grant; e.Result.Err != nil || got.From != w.from || got.Until != w.high {
			m.v.fail("index %d answers a repeated extension of worker %d of layout %q with ticks %d to %d (%v), expected ticks %d to %d",
				e.Index, c.GetWorker(), c.GetLayout(), got.From, got.Until, e.Result.Failure(), w.from, w.high)
		}
		return
	}
	w, l := m.claimed(e, "extends", c), m.layouts[c.GetLayout()]
	if w == nil {
		return
	}
	w.id, w.moved = c.GetExtensionId(), w.high
	end := l.covering(e.Command.GetClockAtMs() + min(c.GetWindowMs(), m.maxWindow()))
	if want := max(w.high, end); e.Result.Grant.Until != want || e.Result.Grant.From != w.from {
		m.v.fail("index %d extends the window of worker %d of layout %q to ticks %d to %d, expected ticks %d to %d",
			e.Index, c.GetWorker(), c.GetLayout(), e.Result.Grant.From, e.Result.Grant.Until, w.from, want)
	}
	w.end(e.Result.Grant.Until)
	g := m.grants[grantKey{raftlog.Lane{Layout: c.GetLayout(), Worker: c.GetWorker()}, w.token}]
	g.ends = append(g.ends, e.Result.Grant.Until)
}

// release checks a release, the only command that lowers a high-water.
func (m *windowModel) release(e *raftlog.Applied, c *commandv1.ReleaseWorker) {
	w := m.claimed(e, "releases", c)
	if w == nil {
		return
	}
	if c.GetNextTick() < w.from || c.GetNextTick() > w.high {
		m.v.fail("index %d releases worker %d of layout %q at tick %d, which is not in its window from %d to %d",
			e.Index, c.GetWorker(), c.GetLayout(), c.GetNextTick(), w.from, w.high)
	}
	w.released = true
	w.end(c.GetNextTick())
}

// end sets the end of the present window, which is the high-water.
func (w *workerModel) end(until int64) {
	w.high = until
	w.windows[len(w.windows)-1][1] = until
}

// checkDisjoint compares the final windows of each worker with each other and with the places of the backfill job of its number.
func (m *windowModel) checkDisjoint() {
	for lane, w := range m.workers {
		end := int64(math.MinInt64)
		for _, window := range w.windows {
			if window[0] >= window[1] {
				continue // completely returned
			}
			if window[0] < end {
				m.v.fail("worker %d of layout %q has a window of ticks %d to %d after all ticks below %d",
					lane.Worker, lane.Layout, window[0], window[1], end)
			}
			end = max(end, window[1])
		}
	}
	m.checkPast()
}
