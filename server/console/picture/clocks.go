package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Clock is a vertical line for a clock.
type Clock struct {
	// Name is the name of a member; empty for the observed clock.
	Name string
	// At is the time of the clock, in Unix milliseconds. Offset is its distance from now, in milliseconds.
	At, Offset int64
	X          string
	Hue        int // number of the member's color
	// Off marks a member whose clock keeps it from issuing IDs, or soon will.
	Off bool
	// Text is the distance in words, and AtText the time.
	Text, AtText string
}

// Label is the label above the lines at one position.
type Label struct {
	Text, X, Anchor string
	// Level is the number of labels above this one; it keeps labels from overlapping. Y is the base line of the label.
	Level, Y int
	Off      bool
	// Observed marks the label of the observed clock.
	Observed bool
}

const (
	// together is the distance below which lines share a label, in percent of the width.
	together = 1.2
	// letter is the width of a letter on the narrowest screen, in percent of the width.
	letter = 2.1
	// longest is the largest number of letters of a label.
	longest = 26
	// levelHeight is the height of a label, including the axis labels below.
	levelHeight = 16
	// maxLevels bounds the number of levels of labels. The last level takes all remaining labels.
	maxLevels = 4
)

// addClocks adds lines and labels for the observed clock and for the clocks of the members that answer.
func (w *Windows) addClocks(o *snowraftv1.Overview, now int64) {
	behind, ahead := o.GetWaitThresholdMs(), o.GetMaxClockOffsetMs()
	for i, m := range o.GetMembers() {
		if !m.GetAnswers() || m.GetClockAtMs() == 0 {
			continue
		}
		c := Clock{Name: m.GetMember().GetName(), At: m.GetClockAtMs(), Hue: i % hues}
		c.Offset = c.At - now
		c.Off = c.Offset > ahead || c.At < o.GetObservedClockAtMs()-behind
		c.Text = distance(c.Offset)
		w.Clocks = append(w.Clocks, c)
	}
	if at := o.GetObservedClockAtMs(); at != 0 {
		w.Clocks = append(w.Clocks, Clock{At: at, Offset: at - now, Text: distance(at - now)})
	}
	for i := range w.Clocks {
		c := &w.Clocks[i]
		c.X, c.AtText = percent(w.Axis.At(c.Offset)), Stamp(c.At, now)
	}
	w.Labels = w.labels()
	for _, l := range w.Labels {
		w.Levels = max(w.Levels, l.Level+1)
	}
}

// labels groups members' clocks at the same position, and puts labels that would overlap on different levels.
func (w *Windows) labels() []Label {
	sorted := slices.Clone(w.Clocks)
	slices.SortStableFunc(sorted, func(a, b Clock) int { return cmp.Compare(a.Offset, b.Offset) })
	type group struct {
		x        float64
		names    []string
		furthest int64 // furthest offset of the clocks
		off      bool
	}
	var groups []group
	observed := -1
	last := -1 // latest group of members
	for _, c := range sorted {
		x := w.Axis.At(c.Offset)
		switch {
		case c.Name == "":
			observed = len(groups)
			groups = append(groups, group{x: x})
		case last >= 0 && x-groups[last].x < together && groups[last].off == c.Off:
			g := &groups[last]
			g.names = append(g.names, c.Name)
			if max(c.Offset, -c.Offset) > max(g.furthest, -g.furthest) {
				g.furthest = c.Offset
			}
		default:
			last = len(groups)
			groups = append(groups, group{x: x, names: []string{c.Name}, furthest: c.Offset, off: c.Off})
		}
	}
	var labels []Label
	ends := make([]float64, 0, maxLevels) // end of the last label of each level
	for i, g := range groups {
		l := Label{Text: "observed clock", X: percent(g.x), Off: g.off, Observed: i == observed}
		if !l.Observed {
			slices.Sort(g.names)
			l.Text = clockNames(g.names)
			if g.off {
				l.Text += ": " + distance(g.furthest)
			}
		}
		l.Anchor = anchorOf(g.x, l.Text)
		begin, end := extent(g.x, l.Anchor, l.Text)
		for l.Level = 0; l.Level < len(ends) && ends[l.Level] > begin; l.Level++ {
		}
		l.Level = min(l.Level, maxLevels-1)
		if l.Level == len(ends) {
			ends = append(ends, 0)
		}
		ends[l.Level] = max(ends[l.Level], end)
		l.Y = (l.Level + 1) * levelHeight
		labels = append(labels, l)
	}
	return labels
}

// anchorOf returns the text-anchor that keeps a label inside the picture.
func anchorOf(x float64, text string) string {
	half := width(text) / 2
	switch {
	case x < half:
		return "start"
	case x > 100-half:
		return "end"
	}
	return "middle"
}

// width returns the width of a label on the narrowest screen, in percent.
func width(text string) float64 { return float64(utf8.RuneCountInString(text)+1) * letter }

// extent returns the beginning and the end of a label on the narrowest screen, in percent.
func extent(x float64, anchor, text string) (begin, end float64) {
	switch w := width(text); anchor {
	case "start":
		return x, x + w
	case "end":
		return x - w, x
	default:
		return x - w/2, x + w/2
	}
}

// clockNames returns a label text with the names of members.
func clockNames(names []string) string {
	text := "clock of " + names[0]
	if len(names) > 1 {
		text = "clocks of " + strings.Join(names, ", ")
	}
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	if len(names) > 1 {
		return fmt.Sprintf("clocks of %d members", len(names))
	}
	return string([]rune(text)[:longest-1]) + "…"
}

// distance formats the distance of a clock from now.
func distance(ms int64) string {
	switch {
	case ms == 0:
		return "now"
	case ms < 0:
		return span(-ms) + " behind"
	}
	return span(ms) + " ahead"
}
