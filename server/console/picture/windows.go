package picture

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Windows is the picture of a layout's granted windows around now, with a row for each worker and lines for clocks.
type Windows struct {
	Layout string
	Axis   Axis
	Ticks  []Tick
	// Now is the center in time, in Unix milliseconds: the time of the overview.
	Now  int64
	NowX string

	Rows   []Row
	Clocks []Clock
	Labels []Label
	Levels int // number of levels of labels

	// Workers is the number of workers of the layout, Held the number of workers held now, and Unshown the number of held
	// workers without a row.
	Workers, Held, Unshown uint64
	// ByMembers and ByOthers are the numbers of rows whose worker is held by a member and by an application.
	ByMembers, ByOthers int
	// Silent lists the names of the members that do not answer. Their clocks are unknown.
	Silent []string
}

// Row is a worker and its windows around now, which never overlap.
type Row struct {
	Worker uint64
	// Owner is the holder of the last window in words, such as "member b". It omits lane 0.
	Owner string
	Held  bool
	// Trouble is one or two words if the holder issues no IDs, or may issue none.
	Trouble string
	Bars    []Bar // latest window first
}

// Bar is the bar of a granted window.
type Bar struct {
	// Key identifies the window in the page.
	Key string
	// X and Width belong to the whole bar, PastX and PastWidth to its part before now. CapX is the position of the
	// high-water. All are empty outside the picture.
	X, Width, PastX, PastWidth, CapX string
	// PositionX is the position of the lane's last ID; empty if unknown or outside the picture.
	PositionX string
	// Class lists the classes of the bar: "member" and "hue-N", or "application"; "past" if the window has ended, was
	// released, or is superseded; "silent" if its member does not answer.
	Class string
	// Problem is the reason why a member holder issues no IDs; empty otherwise.
	Problem string

	Holder, Owner         string
	Process               string // the holder's process in words; empty if unknown
	Token                 uint64
	From, Until, Position int64 // Unix ms; Position 0 is unknown
	State                 string
	FromText, UntilText   string
	PositionText          string
}

// NewWindows returns the picture of an overview with windows, on the axis with the given name; see [Spans]. It does not
// change the overview.
func NewWindows(o *snowraftv1.Overview, axis string) *Windows {
	now := o.GetComposedAtMs()
	l := o.GetWindows()
	furthest := int64(0)
	for _, r := range l.GetRows() {
		furthest = max(furthest, r.GetUntilAtMs()-now)
	}
	w := &Windows{
		Layout: l.GetLayout(), Axis: NewAxis(axis, furthest), Now: now, Workers: l.GetWorkers(), Held: l.GetHeld(),
	}
	w.Ticks, w.NowX = w.Axis.Ticks(), percent(w.Axis.At(0))
	who := newHolders(o.GetMembers())
	for _, m := range o.GetMembers() {
		if !m.GetAnswers() {
			w.Silent = append(w.Silent, m.GetMember().GetName())
		}
	}
	w.addRows(l, who)
	w.addClocks(o, now)
	return w
}

func (w *Windows) addRows(l *snowraftv1.LayoutWindows, who holders) {
	earlier := make(map[uint64][]*snowraftv1.WorkerWindow)
	for _, e := range l.GetEarlier() {
		earlier[e.GetWorker()] = append(earlier[e.GetWorker()], e)
	}
	shown := uint64(0)
	for _, r := range l.GetRows() {
		row := Row{Worker: r.GetWorker(), Owner: strings.TrimSuffix(who.owner(r), ", lane 0"), Held: r.GetHeld()}
		if row.Held {
			shown++
			if r.GetMemberId() != "" {
				w.ByMembers++
			} else {
				w.ByOthers++
			}
		}
		switch m := who[r.GetMemberId()]; {
		case !row.Held || m.problem == "":
		case m.down:
			row.Trouble = "down"
		case m.silent:
			row.Trouble = "no answer"
		default:
			row.Trouble = "not issuing"
		}
		row.Bars = append(row.Bars, w.bar(r, who, false))
		for _, e := range earlier[r.GetWorker()] {
			row.Bars = append(row.Bars, w.bar(e, who, true))
		}
		w.Rows = append(w.Rows, row)
	}
	w.Unshown = w.Held - min(shown, w.Held)
}

// bar returns the bar of a window. It clips the bar at the ends of the axis.
func (w *Windows) bar(r *snowraftv1.WorkerWindow, who holders, superseded bool) Bar {
	b := Bar{
		Key:    fmt.Sprintf("w%d-%d", r.GetWorker(), r.GetToken()),
		Class:  "application",
		Holder: r.GetHolder(), Owner: who.owner(r), Process: rpc.ProcessText(r.GetProcess()), Token: r.GetToken(),
		From: r.GetFromAtMs(), Until: r.GetUntilAtMs(), Position: r.GetPositionAtMs(),
		FromText: Stamp(r.GetFromAtMs(), w.Now), UntilText: Stamp(r.GetUntilAtMs(), w.Now),
	}
	if m, ok := who[r.GetMemberId()]; ok {
		b.Class = fmt.Sprintf("member hue-%d", m.hue)
		if !superseded && r.GetHeld() {
			b.Problem = m.problem
		}
		if m.silent {
			b.Class += " silent"
		}
	}
	switch {
	case superseded:
		b.State = "granted again later"
	case r.GetHeld():
		b.State = "held"
	case r.GetUntilAtMs() <= w.Now:
		b.State = "ended"
	default:
		b.State = "released"
	}
	if b.State != "held" {
		b.Class += " past"
	}
	from, until := r.GetFromAtMs()-w.Now, r.GetUntilAtMs()-w.Now
	if until > w.Axis.From && from < w.Axis.To {
		x, end := w.Axis.At(from), w.Axis.At(until)
		b.X, b.Width = percent(x), percent(end-x)
		if past := w.Axis.At(min(until, 0)); past > x {
			b.PastX, b.PastWidth = b.X, percent(past-x)
		}
		if until <= w.Axis.To {
			b.CapX = percent(end)
		}
	}
	if p := r.GetPositionAtMs(); p != 0 {
		b.PositionText = Stamp(p, w.Now)
		if p -= w.Now; p > w.Axis.From && p < w.Axis.To {
			b.PositionX = percent(w.Axis.At(p))
		}
	}
	return b
}

// Label describes a bar to people who cannot see it.
func (b Bar) Label(worker uint64) string {
	text := fmt.Sprintf("worker %d, %s, fencing token %d, from %s until %s, %s", worker, b.Owner, b.Token, b.FromText, b.UntilText, b.State)
	if b.Problem != "" {
		text += "; " + b.Problem
	}
	return text
}

// member is the information about a member that the picture needs.
type member struct {
	name, problem string
	hue           int
	silent, down  bool
}

// holders maps IDs to members.
type holders map[string]member

// hues is the number of colors for members.
const hues = 8

func newHolders(members []*snowraftv1.MemberView) holders {
	h := make(holders, len(members))
	for i, m := range members {
		problem := m.GetProblem()
		if !m.GetAnswers() && problem == "" {
			problem = "the member does not answer"
		}
		h[m.GetMember().GetId()] = member{m.GetMember().GetName(), problem, i % hues, !m.GetAnswers(), m.GetDown()}
	}
	return h
}

// owner returns a holder in words. Holder names have the form "HOLDER/LANE".
func (h holders) owner(r *snowraftv1.WorkerWindow) string {
	name, lane := r.GetHolder(), ""
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		if n, err := strconv.ParseUint(name[at+1:], 10, 16); err == nil {
			name, lane = name[:at], fmt.Sprintf(", lane %d", n)
		}
	}
	if r.GetMemberId() != "" {
		return "member " + cmp.Or(h[r.GetMemberId()].name, name) + lane
	}
	return name + lane
}

// Stamp formats a time in UTC. It includes the date only if the time is at least 12 hours from now. Both arguments are in
// Unix milliseconds.
func Stamp(ms, now int64) string {
	t := time.UnixMilli(ms).UTC()
	if d := ms - now; d < 12*3600*1000 && d > -12*3600*1000 {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05")
}

// TickY returns the base line of the axis labels in pixels. These labels are below the labels of clocks.
func (w *Windows) TickY() int { return (w.Levels + 1) * levelHeight }

// HeadHeight returns the height of all labels, in pixels.
func (w *Windows) HeadHeight() int { return w.TickY() + levelHeight/2 }

// FullStamp formats a time in Unix milliseconds in UTC, with its date.
func FullStamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }

// Caption describes the picture in one sentence.
func (w *Windows) Caption() string {
	return fmt.Sprintf("Layout %s: %s of its %s workers %s held now.", w.Layout, count(w.Held), count(w.Workers), be(w.Held))
}

// Note describes what the picture omits; empty if it omits nothing.
func (w *Windows) Note() string {
	var notes []string
	if w.Unshown > 0 {
		notes = append(notes, fmt.Sprintf("%s more held workers have no row here.", count(w.Unshown)))
	}
	switch last := len(w.Silent) - 1; last {
	case -1:
	case 0:
		notes = append(notes, fmt.Sprintf("Member %s does not answer, so its clock is unknown.", w.Silent[0]))
	default:
		notes = append(notes, fmt.Sprintf("Members %s and %s do not answer, so their clocks are unknown.", strings.Join(w.Silent[:last], ", "), w.Silent[last]))
	}
	if !w.Axis.Linear {
		notes = append(notes, "The time axis is compressed away from now, so that a second and an hour both have room.")
	}
	return strings.Join(notes, " ")
}

func be(n uint64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// count formats a number with separators.
func count(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
