package picture

import (
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Grant is the picture of the window of an ID, with the windows of the same worker before and after it.
type Grant struct {
	Worker uint64
	Bars   []Bar // the ID's window first
	// Labels are above the bars: the time of the ID, and now. Ends are below: the beginning and the end of the window.
	Labels []Label
	Ends   []Tick
	Levels int // number of levels of labels
	// IDX is the position of the ID. NowX is the position of now; empty outside the picture.
	IDX, NowX string
	// Before and After are the distances to the neighboring windows; empty without one.
	Before, After string
}

// NewGrant returns the picture of the grant of an ID issued at a time. Both times are in Unix milliseconds. The overview
// provides the members among the holders; it may be nil.
func NewGrant(w *snowraftv1.WhoIsResponse, at, now int64, o *snowraftv1.Overview) *Grant {
	g := w.GetGrant()
	margin := max(1, (g.GetUntilAtMs()-g.GetFromAtMs())/5)
	axis := Axis{Linear: true, From: g.GetFromAtMs() - margin - at, To: g.GetUntilAtMs() + margin - at}
	who := newHolders(o.GetMembers())
	p := &Grant{Worker: g.GetWorker(), IDX: percent(axis.At(0))}
	frame := &Windows{Axis: axis, Now: at}
	for _, neighbor := range []*snowraftv1.WorkerGrant{g, w.GetPrevious(), w.GetNext()} {
		if neighbor == nil {
			continue
		}
		b := frame.bar(windowOf(neighbor, o), who, false)
		b.PastX, b.PastWidth = "", ""
		b.Class = strings.TrimSuffix(b.Class, " past")
		if neighbor != g {
			b.Class += " past"
		}
		b.State = stateWord(neighbor.GetState())
		b.FromText, b.UntilText = FullStamp(b.From), FullStamp(b.Until)
		p.Bars = append(p.Bars, b)
	}
	if previous := w.GetPrevious(); previous != nil {
		p.Before = gap(g.GetFromAtMs() - previous.GetUntilAtMs())
	}
	if next := w.GetNext(); next != nil {
		p.After = gap(next.GetFromAtMs() - g.GetUntilAtMs())
	}
	p.label(axis, 0, "this ID", false)
	if d := now - at; d > axis.From && d < axis.To {
		p.NowX = percent(axis.At(d))
		p.label(axis, d, "now", true)
	}
	for _, end := range []struct {
		ms     int64
		anchor string
	}{{g.GetFromAtMs(), "start"}, {g.GetUntilAtMs(), "end"}} {
		p.Ends = append(p.Ends, Tick{X: percent(axis.At(end.ms - at)), Text: Stamp(end.ms, at), Anchor: end.anchor})
	}
	return p
}

// label adds a label above the bars, on its own level.
func (p *Grant) label(axis Axis, ms int64, text string, observed bool) {
	x := axis.At(ms)
	p.Labels = append(p.Labels, Label{Text: text, X: percent(x), Anchor: anchor(x), Level: p.Levels, Y: (p.Levels + 1) * levelHeight, Observed: observed})
	p.Levels++
}

// HeadHeight returns the height of the labels above the bars, in pixels.
func (p *Grant) HeadHeight() int { return p.Levels*levelHeight + levelHeight/2 }

// windowOf converts a grant to the form in overviews.
func windowOf(g *snowraftv1.WorkerGrant, o *snowraftv1.Overview) *snowraftv1.WorkerWindow {
	w := &snowraftv1.WorkerWindow{
		Worker: g.GetWorker(), Holder: g.GetHolder(), Token: g.GetToken(), FromAtMs: g.GetFromAtMs(), UntilAtMs: g.GetUntilAtMs(),
		Process: g.GetProcess(), HighWaterAtMs: g.GetUntilAtMs(), Held: g.GetState() == snowraftv1.WorkerState_WORKER_STATE_HELD,
	}
	if at := strings.LastIndexByte(g.GetHolder(), '/'); at >= 0 && g.GetHolderTokenId() == 0 { // a token means an application
		for _, m := range o.GetMembers() {
			if m.GetMember().GetName() == g.GetHolder()[:at] {
				w.MemberId = m.GetMember().GetId()
			}
		}
	}
	return w
}

// stateWord returns a state in the form of "snowraft whois".
func stateWord(s snowraftv1.WorkerState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "WORKER_STATE_"))
}

// gap formats the time between two windows.
func gap(ms int64) string {
	if ms <= 0 {
		return "directly"
	}
	return span(ms)
}
