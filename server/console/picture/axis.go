// Package picture computes the pictures of the console: the positions of the bars, lines and labels for granted windows. It
// draws nothing. Positions are percentages of the width, so that a picture fits every screen. Templates write them into
// attributes of SVG elements, because the pages' policy allows no inline styles. The main types are [Windows] and [Grant].
//
// Heights and the vertical positions of labels are in pixels. Positions and sizes in strings are attributes with a percent
// sign.
package picture

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Axis maps times relative to now, in milliseconds, to the width of a picture. Later times are never further left. A
// compressed axis is logarithmic on both sides of now.
type Axis struct {
	// Name is the axis's name in links: "all", or the span of a linear axis, such as "10m".
	Name string
	// From and To are the ends, in milliseconds from now. From is negative and To positive.
	From, To int64
	// Linear is false for an axis that compresses times away from now, so that a second and an hour are both readable.
	Linear bool
}

// linear lists the axes that a reader can choose instead of the compressed axis. A third of each is the past.
var linear = []Axis{
	{Name: "10s", To: 10_000}, {Name: "1m", To: 60_000}, {Name: "10m", To: 600_000}, {Name: "1h", To: 3_600_000},
}

const (
	// allPast is the beginning of the compressed axis, in milliseconds from now.
	allPast = -60_000
	// knee is the distance from now at which the compression begins, in milliseconds. An axis is nearly linear nearer to now.
	knee = 1000
)

// reaches lists the possible ends of a compressed axis, in milliseconds from now. They are few, so that the axis rarely
// changes while a reader looks.
var reaches = []int64{10_000, 60_000, 600_000, 3_600_000, 86_400_000}

// Choice is an axis that a reader can choose: its name in links, and its text for people.
type Choice struct{ Name, Text string }

// Spans returns the axes that a reader can choose, the compressed one first.
func Spans() []Choice {
	all := []Choice{{"all", "all"}}
	for _, a := range linear {
		all = append(all, Choice{a.Name, span(a.To)})
	}
	return all
}

// NewAxis returns the axis with the given name, or the compressed axis if there is none. furthest is the latest time to show,
// in milliseconds from now.
func NewAxis(name string, furthest int64) Axis {
	for _, a := range linear {
		if a.Name == name {
			a.From, a.Linear = -a.To/2, true
			return a
		}
	}
	a := Axis{Name: "all", From: allPast, To: reaches[len(reaches)-1]}
	for _, r := range reaches {
		if furthest <= r {
			a.To = r
			break
		}
	}
	return a
}

// scale maps a time to a value. An axis spreads these values evenly.
func (a Axis) scale(ms int64) float64 {
	if a.Linear {
		return float64(ms)
	}
	return math.Copysign(math.Log1p(math.Abs(float64(ms))/knee), float64(ms))
}

// At returns the position of a time, in percent of the width. Times beyond an end are at that end.
func (a Axis) At(ms int64) float64 {
	from, to := a.scale(a.From), a.scale(a.To)
	return 100 * (a.scale(min(max(ms, a.From), a.To)) - from) / (to - from)
}

// Tick is a marked time of an axis.
type Tick struct {
	X, Text string
	// Anchor is the text-anchor of the label.
	Anchor string
	// Minor labels are hidden on narrow screens.
	Minor, Now bool
}

// Ticks returns the marked times, from left to right.
func (a Axis) Ticks() []Tick {
	marks := a.marks()
	ticks := make([]Tick, len(marks))
	for i, ms := range marks {
		x := a.At(ms)
		ticks[i] = Tick{X: percent(x), Text: relative(ms), Anchor: anchor(x), Now: ms == 0, Minor: true}
	}
	// Labels for narrow screens: now, the left end, then as many as fit from the right end.
	var taken [][2]float64
	order := []int{slices.Index(marks, 0), 0}
	for i := len(marks) - 1; i > 0; i-- {
		order = append(order, i)
	}
	for _, i := range order {
		begin, end := extent(a.At(marks[i]), ticks[i].Anchor, ticks[i].Text)
		if !slices.ContainsFunc(taken, func(t [2]float64) bool { return begin < t[1] && t[0] < end }) {
			ticks[i].Minor = false
			taken = append(taken, [2]float64{begin, end})
		}
	}
	return ticks
}

// marks returns the marked times in milliseconds from now, in ascending order.
func (a Axis) marks() []int64 {
	if a.Linear {
		step := a.To / 4
		var marks []int64
		for ms := a.From; ms <= a.To; ms += step {
			marks = append(marks, ms)
		}
		return marks
	}
	marks := []int64{-60_000, -10_000, -1000, 0, 1000, 10_000}
	for _, r := range reaches[1:] {
		if r <= a.To {
			marks = append(marks, r)
		}
	}
	return marks
}

// percent formats a position as an attribute.
func percent(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) + "%" }

// anchor returns the text-anchor that keeps a label inside the picture.
func anchor(x float64) string {
	switch {
	case x < 8:
		return "start"
	case x > 92:
		return "end"
	}
	return "middle"
}

// relative formats a time from now, such as "+10 s".
func relative(ms int64) string {
	switch {
	case ms == 0:
		return "now"
	case ms < 0:
		return "−" + span(-ms)
	}
	return "+" + span(ms)
}

// span formats a duration with at most two units, such as "4 min 10 s".
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return strconv.FormatInt(ms, 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + " s"
	case d < time.Hour:
		return pair(int64(d/time.Minute), "min", int64(d%time.Minute/time.Second), "s")
	case d < 24*time.Hour:
		return pair(int64(d/time.Hour), "h", int64(d%time.Hour/time.Minute), "min")
	}
	return pair(int64(d/(24*time.Hour)), "d", int64(d%(24*time.Hour)/time.Hour), "h")
}

func pair(n int64, unit string, rest int64, smaller string) string {
	text := strconv.FormatInt(n, 10) + " " + unit
	if rest != 0 {
		text += " " + strconv.FormatInt(rest, 10) + " " + smaller
	}
	return text
}

// Ago formats the distance of a time from now in words, such as "4 min 10 s ago". ms is the distance in milliseconds,
// negative for the past.
func Ago(ms int64) string {
	switch {
	case ms <= -1000:
		return span(-ms) + " ago"
	case ms >= 1000:
		return "in " + span(ms)
	}
	return "now"
}
