package picture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/seed"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const now = int64(1_800_000_000_000) // Unix ms

// window returns a held window of a worker. from and until are in milliseconds from now.
func window(worker uint64, holder string, from, until int64) *snowraftv1.WorkerWindow {
	return &snowraftv1.WorkerWindow{
		Worker: worker, Holder: holder, Token: 10 + worker, FromAtMs: now + from, UntilAtMs: now + until, HighWaterAtMs: now + until, Held: until > 0,
	}
}

// overview returns an overview of members a, b, c and so on, with the given offsets of their clocks.
func overview(offsets ...int64) *snowraftv1.Overview {
	o := &snowraftv1.Overview{
		ComposedAtMs: now, ObservedClockAtMs: now - 400, WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
		Windows: &snowraftv1.LayoutWindows{Layout: "default", Workers: 1024},
	}
	for i, offset := range offsets {
		name := string(rune('a' + i))
		o.Members = append(o.Members, &snowraftv1.MemberView{
			Member: &snowraftv1.Member{Id: "id-" + name, Name: name}, Answers: true, ClockAtMs: now + offset,
		})
	}
	return o
}

func value(t interface {
	Helper()
	Fatalf(string, ...any)
}, attribute string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.TrimSuffix(attribute, "%"), 64)
	if err != nil || !strings.HasSuffix(attribute, "%") {
		t.Fatalf("attribute %q, want a percentage", attribute)
	}
	return x
}

func TestAxesAscendFromEndToEnd(t *testing.T) {
	for _, name := range []string{"all", "10s", "1m", "10m", "1h", "unknown"} {
		for _, furthest := range []int64{-5, 0, 2000, 60_001, 1 << 40} {
			a := NewAxis(name, furthest)
			if a.At(a.From) != 0 || a.At(a.To) < 99.999 || a.At(-1<<62) != 0 || a.At(1<<62) != a.At(a.To) {
				t.Errorf("%+v: ends at %v and %v", a, a.At(a.From), a.At(a.To))
			}
			last := -1.0
			for _, ms := range a.marks() {
				if x := a.At(ms); x <= last {
					t.Errorf("%+v: %d ms is at %v, not right of %v", a, ms, x, last)
				} else {
					last = x
				}
			}
			end := 0.0
			for i, tick := range a.Ticks() {
				begin, to := extent(a.At(a.marks()[i]), tick.Anchor, tick.Text)
				if !tick.Minor && begin < end {
					t.Errorf("%+v: label %q overlaps the one before", a, tick.Text)
				}
				if !tick.Minor {
					end = to
				}
			}
		}
	}
}

func TestBarsShowPastEndAndPosition(t *testing.T) {
	o := overview(0, 5, -5)
	a, app, far, gone := window(0, "a/0", -3_600_000, 300_000), window(7, "shop/2", -20_000, 2000), window(8, "b/0", -1, 900_000_000), window(9, "x/0", -90_000, -70_000)
	a.MemberId, a.PositionAtMs = "id-a", now-2000
	far.MemberId = "id-b"
	o.Members[1].Answers, o.Members[1].Problem = false, "does not answer a"
	o.Windows.Rows = []*snowraftv1.WorkerWindow{a, app, far, gone}
	o.Windows.Held, o.Windows.Used = 3, 4
	earlier := window(7, "old/0", -40_000, -20_000)
	earlier.Token = 1
	o.Windows.Earlier = []*snowraftv1.WorkerWindow{earlier}

	w := NewWindows(o, "all")
	nowX := value(t, w.NowX)
	bar := w.Rows[0].Bars[0]
	if value(t, bar.X) != 0 || bar.PastX == "" || value(t, bar.PastWidth) != nowX || value(t, bar.CapX) != value(t, bar.X)+value(t, bar.Width) {
		t.Errorf("bar %+v, want it from the left end over now at %v to its cap", bar, nowX)
	}
	if x := value(t, bar.PositionX); x <= 0 || x >= nowX {
		t.Errorf("position at %v, want it in the past", x)
	}
	if bar.Class != "member hue-0" || bar.Owner != "member a, lane 0" || w.Rows[0].Owner != "member a" || bar.State != "held" {
		t.Errorf("bar %+v of row %+v, want a window of member a", bar, w.Rows[0])
	}
	two := w.Rows[1].Bars
	if len(two) != 2 || two[0].Owner != "shop, lane 2" || two[1].State != "granted again later" || two[1].Class != "application past" {
		t.Fatalf("bars %+v, want the window of shop and one before", two)
	}
	if value(t, two[1].X)+value(t, two[1].Width) > value(t, two[0].X)+0.001 {
		t.Errorf("bars %+v overlap", two)
	}
	if b := w.Rows[2].Bars[0]; b.CapX != "" || !strings.Contains(b.Class, "silent") || b.Problem != "does not answer a" || w.Rows[2].Trouble != "no answer" {
		t.Errorf("bar %+v of row %+v, want a bar of a silent member with an end outside", b, w.Rows[2])
	}
	if b := w.Rows[3].Bars[0]; b.X != "" || b.State != "ended" {
		t.Errorf("bar %+v, want none for a window that ended long ago", b)
	}
	if label := bar.Label(0); !strings.Contains(label, "worker 0, member a, lane 0, fencing token 10, from ") || !strings.Contains(label, " until ") {
		t.Errorf("label %q", label)
	}
	if !strings.Contains(w.Note(), "Member b does not answer") || w.Caption() != "Layout default: 3 of its 1,024 workers are held now." {
		t.Errorf("note %q, caption %q", w.Note(), w.Caption())
	}
	w.Silent = []string{"a", "b", "c"}
	if !strings.Contains(w.Note(), "Members a, b and c do not answer") {
		t.Errorf("note %q", w.Note())
	}
	if w.Axis.To != 86_400_000 {
		t.Errorf("axis to %d ms, want a day for a window of ten days", w.Axis.To)
	}
}

func TestClocksAreLinesWithLabels(t *testing.T) {
	w := NewWindows(overview(0, 20, -4200, 700), "all")
	off := map[string]bool{}
	for _, c := range w.Clocks {
		off[c.Name] = c.Off
	}
	if fmt.Sprint(off) != fmt.Sprint(map[string]bool{"": false, "a": false, "b": false, "c": true, "d": true}) {
		t.Errorf("clocks off: %v, want c, which is behind the observed clock, and d, which is ahead", off)
	}
	var texts []string
	for _, l := range w.Labels {
		texts = append(texts, l.Text)
	}
	if want := []string{"clock of c: 4.2 s behind", "observed clock", "clocks of a, b", "clock of d: 700 ms ahead"}; !slices.Equal(texts, want) {
		t.Errorf("labels %q, want %q", texts, want)
	}
}

func TestLabelsNeverOverlap(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		o := overview(rapid.SliceOfN(rapid.Int64Range(-100_000, 100_000), 0, 3).Draw(t, "offsets")...)
		o.ObservedClockAtMs = now - rapid.Int64Range(-5000, 5000).Draw(t, "observed")
		w := NewWindows(o, rapid.SampledFrom([]string{"all", "10s", "1h"}).Draw(t, "axis"))
		ends := map[int]float64{}
		for _, l := range w.Labels {
			begin, end := extent(value(t, l.X), l.Anchor, l.Text)
			if begin < ends[l.Level]-0.01 {
				t.Fatalf("labels %+v overlap", w.Labels)
			}
			ends[l.Level] = end
		}
	})
}

// Every picture stays inside its frame, and bars of windows that do not overlap are drawn apart.
func TestPicturesStayInside(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		o := overview(rapid.SliceOfN(rapid.Int64(), 0, 6).Draw(t, "offsets")...)
		o.Windows.Used, o.Windows.Held = rapid.Uint64().Draw(t, "used"), rapid.Uint64().Draw(t, "held")
		edges := rapid.SliceOfN(rapid.Int64Range(-1<<50, 1<<50), 4, 4).Draw(t, "edges")
		slices.Sort(edges)
		earlier, last := window(1, "a/0", edges[0], edges[1]), window(1, "b/1", edges[2], edges[3])
		last.Token, last.PositionAtMs = 99, rapid.Int64().Draw(t, "position")
		o.Windows.Rows, o.Windows.Earlier = []*snowraftv1.WorkerWindow{last}, []*snowraftv1.WorkerWindow{earlier}
		w := NewWindows(o, rapid.SampledFrom([]string{"all", "1m"}).Draw(t, "axis"))
		inside := func(attribute string) float64 {
			x := value(t, attribute)
			if x < 0 || x > 100.001 {
				t.Fatalf("%v is outside of %+v", attribute, w)
			}
			return x
		}
		var ends []float64
		for _, b := range w.Rows[0].Bars {
			if b.X != "" {
				ends = append(ends, inside(b.X), inside(b.X)+inside(b.Width))
			}
			for _, x := range []string{b.PastX, b.PastWidth, b.CapX, b.PositionX} {
				if x != "" {
					inside(x)
				}
			}
		}
		if len(ends) == 4 && ends[3] > ends[0]+0.002 {
			t.Fatalf("bars at %v overlap", ends)
		}
		for _, c := range w.Clocks {
			inside(c.X)
		}
	})
}

func TestGrantShowsNeighbors(t *testing.T) {
	grant := func(token uint64, from, until int64, state snowraftv1.WorkerState) *snowraftv1.WorkerGrant {
		return &snowraftv1.WorkerGrant{Worker: 4, Holder: "a/1", Token: token, FromAtMs: now + from, UntilAtMs: now + until, State: state}
	}
	who := &snowraftv1.WhoIsResponse{
		Grant:    grant(5, -10_000, 10_000, snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED),
		Previous: grant(3, -20_000, -10_000, snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED),
		Next:     grant(9, 12_000, 100_000, snowraftv1.WorkerState_WORKER_STATE_HELD),
	}
	g := NewGrant(who, now, now+5000, overview(0))
	if len(g.Bars) != 3 || g.Bars[0].Class != "member hue-0" || g.Bars[0].State != "superseded" || g.Bars[0].Owner != "member a, lane 1" {
		t.Errorf("bars %+v, want three of member a", g.Bars)
	}
	if g.Before != "directly" || g.After != "2 s" {
		t.Errorf("before %q, after %q", g.Before, g.After)
	}
	id, nowX := value(t, g.IDX), value(t, g.NowX)
	if begin, end := value(t, g.Bars[0].X), value(t, g.Bars[0].CapX); id <= begin || nowX <= id || end <= nowX || value(t, g.Bars[2].X) <= end {
		t.Errorf("ID at %v, now at %v, window from %v to %v", id, nowX, begin, end)
	}
	app := grant(5, 0, 1, snowraftv1.WorkerState_WORKER_STATE_HELD)
	app.HolderTokenId = 7 // a holder with a token is an application, whatever its name
	if g := NewGrant(&snowraftv1.WhoIsResponse{Grant: app}, now, now+1<<40, overview(0)); g.Bars[0].Class != "application" || g.NowX != "" {
		t.Errorf("%+v, want an application's window without now", g)
	}
}
