package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

// faultRow is the height of a row of faults.
const faultRow = 17

// letter is the approximate width of a letter.
const letter = 7

// faults draws one row per kind of fault in the run, ordered by family.
func (d *digest) faults() *figure {
	f := &figure{Title: "Faults", About: "one row per kind"}
	type row struct{ family, name string }
	var rows []row
	for _, fault := range d.Faults {
		if r := (row{fault.Family, fault.Name}); !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(familyRank(a.family), familyRank(b.family)), strings.Compare(a.family, b.family), strings.Compare(a.name, b.name))
	})
	for i, r := range rows {
		if i == 0 || rows[i-1].family != r.family {
			f.Legend = append(f.Legend, key{Class: familyClass(r.family), Name: plain(r.family)})
		}
	}
	if slices.ContainsFunc(d.Faults, func(f check.FaultSpan) bool { return f.Failed != "" }) {
		f.Legend = append(f.Legend, key{Class: "notmade", Name: "not injected"})
	}
	p := f.pane(faultRow * (1 + len(rows)))
	d.phases(p)
	for i, r := range rows {
		p.label(num(faultRow*(i+1)+faultRow/2), r.name)
		p.Grid = append(p.Grid, num(faultRow*(i+1)))
	}
	for _, fault := range d.Faults {
		y := num(faultRow * (1 + slices.Index(rows, row{fault.Family, fault.Name})))
		class := "bar " + familyClass(fault.Family)
		if fault.Failed != "" {
			class += " notmade"
		}
		p.between(d, fault.From, fault.To, y+2, faultRow-4, class, d.faultTitle(fault))
	}
	return f
}

// phases draws the run's phases in the first row.
func (d *digest) phases(p *pane) {
	p.label(faultRow/2, "phase")
	names := map[string]string{
		history.PhaseLoad: "clients only", history.PhaseFaults: "faults", history.PhaseHealed: "healed, clients continue", history.PhaseEnd: "end",
	}
	from, name := d.zero, "startup"
	draw := func(to int64, i int) {
		title := name + ": " + d.when(from, to)
		p.between(d, from, to, 2, faultRow-4, fmt.Sprintf("phase%d", i%2), title)
		if x := d.x(from); d.x(to)-x > num(letter*len(name)) {
			p.Texts = append(p.Texts, text{x, name})
		}
	}
	for i, phase := range []string{history.PhaseLoad, history.PhaseFaults, history.PhaseHealed, history.PhaseEnd} {
		at, ok := d.Phases[phase]
		if !ok {
			continue
		}
		draw(at, i)
		from, name = at, names[phase]
	}
	draw(d.end, len(names))
}

// familyClass returns the CSS class of a family.
func familyClass(family string) string {
	if slices.Contains(families, family) {
		return family
	}
	return "otherfamily"
}

// faultTitle returns all details of a fault, one per line.
func (d *digest) faultTitle(f check.FaultSpan) string {
	lines := []string{fmt.Sprintf("%s (%s), event %d", f.Name, f.Family, f.Event), d.when(f.From, f.To)}
	if len(f.Hosts) > 0 {
		lines = append(lines, "on "+strings.Join(f.Hosts, ", "))
	}
	if f.OffsetNanos != 0 {
		lines = append(lines, fmt.Sprintf("clocks set off by %+v", time.Duration(f.OffsetNanos)))
	}
	if f.Detail != "" {
		lines = append(lines, f.Detail)
	}
	if f.Idle {
		lines = append(lines, "no operation occurred that the fault could affect")
	}
	if f.Failed != "" {
		lines = append(lines, "NOT INJECTED: "+f.Failed)
	}
	return strings.Join(lines, "\n")
}

// when formats the time range [from, to), or the moment from if both are equal.
func (d *digest) when(from, to int64) string {
	begun := clockFace(time.Duration(from - d.zero))
	switch to {
	case math.MaxInt64:
		return "from " + begun + ", no end recorded"
	case from:
		return "at " + begun
	default:
		return fmt.Sprintf("%s to %s (%s)", begun, clockFace(time.Duration(to-d.zero)), short(time.Duration(to-from)))
	}
}
