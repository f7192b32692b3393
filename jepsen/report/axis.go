package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// plotWidth is the width of a figure's plot, in the figure's units.
	plotWidth = 1000
	// gutter is the width to the left of the plot, for names, and margin the width to its right, for half of a mark.
	gutter, margin = 150, 30
)

// num is a coordinate. Its text has at most two decimals.
type num float64

// String implements fmt.Stringer.
func (n num) String() string {
	text := strconv.FormatFloat(float64(n), 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// x returns the coordinate of a moment in a plot, in [0, plotWidth].
func (d *digest) x(at int64) num {
	at = min(max(at, d.zero), d.end)
	return num(plotWidth * float64(at-d.zero) / float64(d.end-d.zero))
}

// tick is a mark of the time axis.
type tick struct {
	X    num
	Text string
}

// steps lists the possible distances between marks, which are easy to read.
var steps = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// mostTicks is the maximum of marks on the time axis.
const mostTicks = 12

// ticks returns the marks for the whole run.
func (d *digest) ticks() []tick {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if d.length()/s < mostTicks {
			step = s
			break
		}
	}
	var all []tick
	for at := time.Duration(0); at < d.length() && len(all) < mostTicks; at += step {
		all = append(all, tick{d.x(d.zero + int64(at)), tickText(at, step)})
	}
	return all
}

// tickText formats a time as 12 s, 3:20 or 1:05:00. The page's script has the same function.
func tickText(at, step time.Duration) string {
	switch seconds := int64(at / time.Second); {
	case step < time.Second:
		return fmt.Sprintf("%.1f s", at.Seconds())
	case at < time.Minute:
		return fmt.Sprintf("%d s", seconds)
	case at < time.Hour:
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
}

// scale maps values to y coordinates in a plot: 0 is the upper edge.
type scale struct {
	height     float64
	low, high  float64               // range of f's results
	f          func(float64) float64 // identity for a linear scale
	marks      []float64
	formatMark func(float64) string
}

// y returns the coordinate of a value. A value outside of the scale is at the edge.
func (s scale) y(v float64) num {
	at := (s.f(v) - s.low) / (s.high - s.low)
	return num(s.height * (1 - min(max(at, 0), 1)))
}

// linear returns a scale from 0 to at least most, with a mark at each end and, if height is more than 100, three between.
func linear(most, height float64) scale {
	top := math.Pow(10, math.Floor(math.Log10(max(most, 1))))
	for _, m := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10} {
		if top*m >= most {
			top = math.Round(top * m)
			break
		}
	}
	s := scale{height: height, high: top, f: func(v float64) float64 { return v }, marks: []float64{0, top}}
	if height > 100 {
		s.marks = []float64{0, top / 4, top / 2, top * 3 / 4, top}
	}
	s.formatMark = func(v float64) string {
		if v == math.Trunc(v) {
			return grouped(int64(v))
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return s
}

// logarithmic returns a logarithmic scale of durations in whole decades that contains [least, most].
func logarithmic(least, most time.Duration, height float64) scale {
	s := scale{height: height, f: func(v float64) float64 { return math.Log10(max(v, 1)) }}
	s.low, s.high = math.Floor(s.f(float64(least))), math.Ceil(s.f(float64(most)))
	if s.high <= s.low {
		s.high = s.low + 1
	}
	for exponent := s.low; exponent <= s.high; exponent++ {
		s.marks = append(s.marks, math.Pow(10, exponent))
	}
	s.formatMark = func(v float64) string { return time.Duration(v).String() }
	return s
}

// signed returns a scale of durations around 0: linear near 0 and logarithmic beyond 10 ms.
func signed(most time.Duration) scale {
	const near = float64(10 * time.Millisecond)
	f := func(v float64) float64 { return math.Copysign(math.Log10(1+math.Abs(v)/near), v) }
	var beyond []time.Duration
	for _, mark := range []time.Duration{
		100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour, 1000 * time.Hour,
	} {
		beyond = append(beyond, mark)
		if mark >= most {
			break
		}
	}
	top := f(float64(beyond[len(beyond)-1]))
	s := scale{height: clockHeight, low: -1.05 * top, high: 1.05 * top, f: f, marks: []float64{0}, formatMark: signedText}
	last := math.Inf(1)
	for _, mark := range slices.Backward(beyond) { // the greatest mark matters most
		if at := f(float64(mark)); (last-at)*clockHeight/(2.1*top) >= closest {
			s.marks = append(s.marks, float64(mark), -float64(mark))
			last = at
		}
	}
	return s
}

// closest is the least distance between two marks with a text.
const closest = 12

// signedText formats a duration as +1m, -100ms or 0.
func signedText(v float64) string {
	text := time.Duration(v).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	switch {
	case v == 0:
		return "0"
	case v > 0:
		return "+" + text
	default:
		return text
	}
}
