//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// The measures of pictures, in pixels.
const (
	width  = 900
	labels = 190 // column of the systems' names
	right  = 150 // margin for what goes beyond the last column
	line   = 24  // height of a system
	head   = 70  // height of the heading
)

// canvas returns an SVG of a height, with a heading and a line below it.
func canvas(height int, heading, below, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24">
<rect width="%[1]d" height="%[2]d" fill="#ffffff"/>
<text x="16" y="26" font-size="17" font-weight="600">%[3]s</text>
<text x="16" y="48" fill="#57606a">%[4]s</text>
%[5]s</svg>
`, width, height, html.EscapeString(heading), html.EscapeString(below), body)
}

// label returns the name of a system, left of its line.
func label(r row, y int) string {
	weight := ""
	if strings.Contains(strings.ToLower(r.title), "snowraft") {
		weight = ` font-weight="600"`
	}
	name := strings.ReplaceAll(r.name, "-", " ")
	return fmt.Sprintf(`<text x="%d" y="%d" text-anchor="end"%s>%s</text>`+"\n", labels-12, y+line-8, weight, html.EscapeString(name))
}

// bars draws the median of duplicates of each system on a logarithmic scale.
func bars(rows []row) string {
	most := 1
	for _, r := range rows {
		most = max(most, r.median())
	}
	full := math.Log10(float64(most) + 1)
	var b strings.Builder
	for i, r := range rows {
		y, n := head+i*line, r.median()
		b.WriteString(label(r, y))
		long := int(math.Log10(float64(n)+1) / full * (width - labels - right))
		color := "#cf222e"
		if n == 0 {
			long, color = 3, "#1a7f37"
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", labels, y+4, long, line-8, color)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", labels+long+8, y+line-8, thousands(int64(n)))
	}
	return canvas(head+len(rows)*line+20, "Numbers that came twice, in one run of the same faults", "Median over the runs; logarithmic scale", b.String())
}

// narrowest is the width of the band of a fault that is over at once.
const narrowest = 1.0

// timelines draws what the callers of each system got over the run with the first seed: green where all calls succeed, white where none
// does, a red mark where a number came twice, grey bands for faults. All systems have the course of the first one.
func timelines(o options, rows []row) (string, error) {
	seed := rows[0].runs[0].Seed
	c := rows[0].trial.course(seed)
	scale := float64(width-labels-right) / c.length.Seconds()
	at := func(d time.Duration) float64 { return labels + d.Seconds()*scale }
	var b strings.Builder
	bottom := head + 150 + len(rows)*line
	for _, f := range c.all() {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#d0d7de" opacity="0.5"/>`+"\n", at(f.At), head+150, max(narrowest, f.For.Seconds()*scale), bottom-head-150)
		fmt.Fprintf(&b, `<text transform="translate(%.1f %d) rotate(-35)" font-size="11" fill="#57606a">%s</text>`+"\n", at(f.At+f.For/2), head+142, html.EscapeString(string(f.Kind)))
	}
	for i, r := range rows {
		y := head + 150 + i*line
		b.WriteString(label(r, y))
		s, err := sample(filepath.Join(o.out, fmt.Sprint(seed), r.name+".tsv"), c.length)
		if err != nil {
			return "", err
		}
		for from := 0; from < len(s); {
			until := from + 1
			for until < len(s) && s[until] == s[from] {
				until++
			}
			x, long := at(time.Duration(from)*tick), time.Duration(until-from)*tick
			if got := s[from]; got.good > 0 {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#1a7f37" opacity="%.2g"/>`+"\n",
					x, y+5, long.Seconds()*scale+0.1, line-10, min(1, float64(got.good)/apps))
			}
			if s[from].twice {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#cf222e"/>`+"\n", x, y+2, max(1.5, long.Seconds()*scale), line-4)
			}
			from = until
		}
	}
	return canvas(bottom+24, fmt.Sprintf("What callers got under the same faults (seed %d)", seed),
		"Green: the share of applications that get numbers. Red: a number comes that came before. Grey: a fault.", b.String()), nil
}
