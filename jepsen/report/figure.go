package report

import (
	"fmt"
	"slices"
	"strings"
)

// figure is a picture of the run over time.
type figure struct {
	Title, About string
	Legend       []key
	Panes        []*pane
}

// key is a legend entry for a class of marks.
type key struct {
	Class, Name string
	Line        bool // false for an area
}

// pane is a plot of a figure. All panes of a page share the time axis.
type pane struct {
	Top, Height int
	Labels      []label // texts to the left of the plot
	Grid        []num   // y coordinates of horizontal lines
	Rects       []rect
	Texts       []text // texts inside of the plot
	Paths       []path
}

// label is a text at a y coordinate.
type label struct {
	Y          num
	Text, Full string
}

// rect is the mark of a time range.
type rect struct {
	X, Y, W, H   num
	Class, Title string
}

// text is a text that begins at a moment.
type text struct {
	X    num
	Text string
}

// path is a line or an area.
type path struct{ D, Class string }

const (
	// paneGap is the height between panes, and axisHeight the height of the time axis below them.
	paneGap    = 14
	axisHeight = 20
	// thinnest is the width of a moment's mark: browsers draw neither a mark of width 0 nor its border.
	thinnest = 0.05
	// longestLabel is the number of letters that fit next to a plot.
	longestLabel = 22
)

// Height returns the height of the figure.
func (f *figure) Height() int { return f.Bottom() + axisHeight }

// Bottom returns the lower end of the last pane.
func (f *figure) Bottom() int {
	if len(f.Panes) == 0 {
		return 0
	}
	last := f.Panes[len(f.Panes)-1]
	return last.Top + last.Height
}

// Width returns the width of a figure, which is the same for all.
func (f *figure) Width() int { return gutter + plotWidth + margin }

// Right returns the right end of a plot.
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

// label adds a text to the left of the plot, shortened to longestLabel.
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

// between draws the mark of a time range [from, to).
func (p *pane) between(d *digest, from, to int64, y, h num, class, title string) {
	x := d.x(from)
	p.Rects = append(p.Rects, rect{x, y, max(d.x(to)-x, thinnest), h, class, title})
}

// stairs is a line with one constant value per bucket, and a gap at buckets without a
// value.
type stairs struct {
	b    strings.Builder
	last int // bucket of the previous value
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

// bucket returns the x coordinates of the start and the end of a bucket.
func (d *digest) bucket(i int) (from, to num) {
	width := int64(d.series.width)
	return d.x(d.zero + int64(i)*width), d.x(d.zero + int64(i+1)*width)
}

// area returns the SVG path of the area between two values per bucket, "" without buckets.
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
