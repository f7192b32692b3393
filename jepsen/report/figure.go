package report

import (
	"fmt"
	"slices"
	"strings"
)

// figure is a picture over the time of the run.
type figure struct {
	Title, About string
	Legend       []key
	Panes        []*pane
}

// key explains a class of marks.
type key struct {
	Class, Name string
	Line        bool // not an area
}

// pane is a plot of a figure. Panes of a page share the axis of time.
type pane struct {
	Top, Height int
	Labels      []label // at the left
	Grid        []num   // horizontal lines
	Rects       []rect
	Texts       []text // within the plot
	Paths       []path
}

// label is text at a height.
type label struct {
	Y          num
	Text, Full string
}

// rect is a stretch of time.
type rect struct {
	X, Y, W, H   num
	Class, Title string
}

// text begins at a moment.
type text struct {
	X    num
	Text string
}

// path is a line or an area.
type path struct{ D, Class string }

const (
	// paneGap is the space between panes, and axisHeight that for the marks below them.
	paneGap    = 14
	axisHeight = 20
	// thinnest is how wide a moment is: what has no width isn't drawn, nor is its border.
	thinnest = 0.05
	// longestLabel is the number of letters that fit next to a plot.
	longestLabel = 22
)

// Height is how high the figure is.
func (f *figure) Height() int { return f.Bottom() + axisHeight }

// Bottom is where the last pane ends.
func (f *figure) Bottom() int {
	if len(f.Panes) == 0 {
		return 0
	}
	last := f.Panes[len(f.Panes)-1]
	return last.Top + last.Height
}

// Width is how wide all figures are.
func (f *figure) Width() int { return gutter + plotWidth + margin }

// Right is where plots end.
func (*figure) Right() int { return gutter + plotWidth }

// pane adds a pane below the others.
func (f *figure) pane(height int) *pane {
	top := paneGap / 2
	if len(f.Panes) > 0 {
		top = f.Bottom() + paneGap
	}
	p := &pane{Top: top, Height: height}
	f.Panes = append(f.Panes, p)
	return p
}

// label writes text beside the plot, cut off if it is long.
func (p *pane) label(y num, text string) {
	p.Labels = append(p.Labels, label{y, cut(text, longestLabel), plain(text)})
}

// scale draws a scale's marks.
func (p *pane) scale(s scale) {
	for _, mark := range s.marks {
		y := s.y(mark)
		p.Grid = append(p.Grid, y)
		p.label(y, s.formatMark(mark))
	}
}

// between draws a stretch of time [from, to).
func (p *pane) between(d *digest, from, to int64, y, h num, class, title string) {
	x := d.x(from)
	p.Rects = append(p.Rects, rect{x, y, max(d.x(to)-x, thinnest), h, class, title})
}

// stairs is a line that stays at a value as long as a bucket lasts. Where there is no
// value it has a gap.
type stairs struct {
	b    strings.Builder
	last int // the bucket before
}

func (s *stairs) add(d *digest, bucket int, y num) {
	from, to := d.bucket(bucket)
	move := "L"
	if s.b.Len() == 0 || bucket != s.last+1 {
		move = "M"
	}
	fmt.Fprintf(&s.b, "%s%s %sH%s", move, from, y, to)
	s.last = bucket
}

// bucket is where a bucket of the series begins and ends in a plot.
func (d *digest) bucket(i int) (from, to num) {
	width := int64(d.series.width)
	return d.x(d.zero + int64(i)*width), d.x(d.zero + int64(i+1)*width)
}

// area is what lies between two values in each bucket.
func (d *digest) area(low, high []num) string {
	var there, back strings.Builder
	for i := range high {
		from, to := d.bucket(i)
		fmt.Fprintf(&there, "%s%s %sH%s", map[bool]string{true: "M", false: "L"}[i == 0], from, high[i], to)
	}
	for i, y := range slices.Backward(low) {
		from, to := d.bucket(i)
		fmt.Fprintf(&back, "L%s %sH%s", to, y, from)
	}
	if there.Len() == 0 {
		return ""
	}
	return there.String() + back.String() + "Z"
}
