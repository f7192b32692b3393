package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// columns is the width of the text.
const columns = 100

// longestName is the maximum length of a name in a table.
const longestName = 20

// text returns the report for a terminal.
func (d *digest) text() string {
	var b strings.Builder
	b.WriteString(wrap(strings.ToUpper(string(d.overall))+": ", d.headline()))
	d.textHeader(&b)
	d.textVerdicts(&b)
	d.textOperations(&b)
	d.textFaults(&b)
	fmt.Fprintf(&b, "\nreport    %s\nschedule  %s\nreplay    %s\n", filepath.Join(d.Dir, PageName), filepath.Join(d.Dir, scheduleName), d.again())
	return b.String()
}

// again returns the command that replays the schedule of the run.
func (d *digest) again() string {
	return "go run ./jepsen run --replay " + filepath.Join(d.Dir, scheduleName)
}

func (d *digest) textHeader(b *strings.Builder) {
	for _, line := range d.header() {
		b.WriteString(wrap(fmt.Sprintf("%-10s", line.name), line.value))
	}
}

// fact is a named value of a run.
type fact struct{ name, value string }

// header returns the parameters of the run.
func (d *digest) header() []fact {
	h := d.Header
	length := d.length().Round(100 * time.Millisecond).String()
	if faults := d.between("faults", "healed"); faults > 0 {
		length += " (" + faults.Round(100*time.Millisecond).String() + " with faults)"
	}
	facts := []fact{
		{"seed", fmt.Sprint(h.Seed)},
		{"length", length},
		{"started", d.wall(d.zero).Format("2006-01-02 15:04:05 MST")},
		{"binary", binary(h.Binary)},
		{"members", plain(strings.Join(h.Members, ", "))},
		{"workloads", plain(strings.Join(h.Workloads, ", "))},
		{"nemeses", cmp.Or(plain(strings.Join(h.Nemeses, ", ")), "none")},
	}
	if len(h.Mutants) > 0 {
		facts = append(facts, fact{"planted", plain(strings.Join(h.Mutants, ", "))})
	}
	return facts
}

func (d *digest) textVerdicts(b *strings.Builder) {
	name, outcome := len("checker"), len("outcome")
	for _, v := range d.verdicts {
		name = max(name, utf8.RuneCountInString(cut(v.Checker, longestName)))
		outcome = max(outcome, utf8.RuneCountInString(cut(string(v.Outcome), longestName)))
	}
	fmt.Fprintf(b, "\n%-*s  %-*s  summary\n", name, "checker", outcome, "outcome")
	for _, v := range d.verdicts {
		head := fmt.Sprintf("%-*s  %-*s  ", name, cut(v.Checker, longestName), outcome, strings.ToUpper(cut(string(v.Outcome), longestName)))
		b.WriteString(wrap(head, plain(v.Summary)))
	}
	for _, v := range d.verdicts {
		if len(v.Failures) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s, %s\n", plain(v.Checker), strings.ToUpper(plain(string(v.Outcome))))
		for _, failure := range v.Failures {
			b.WriteString(wrap("  - ", plain(failure)))
		}
		if left := leftOut(v); left > 0 {
			fmt.Fprintf(b, "  and %s more\n", grouped(left))
		}
	}
}

func (d *digest) textOperations(b *strings.Builder) {
	workload := len("workload")
	counts := d.tally.counts()
	for _, c := range counts {
		workload = max(workload, utf8.RuneCountInString(cut(c.Workload, longestName)))
	}
	fmt.Fprintf(b, "\n%-*s  outcome  %12s  %6s  reason\n", workload, "workload", "operations", "share")
	for _, c := range counts {
		line := fmt.Sprintf("%-*s  %-7s  %12s  %6s  %s", workload, cut(c.Workload, longestName), cut(string(c.Outcome), 7), grouped(c.Operations), percent(c.Share), plain(c.Reason))
		b.WriteString(strings.TrimRight(string([]rune(line)[:min(utf8.RuneCountInString(line), columns)]), " ") + "\n")
	}
	b.WriteByte('\n')
	for _, f := range d.numbers() {
		b.WriteString(wrap(fmt.Sprintf("%-16s", f.name), f.value))
	}
}

// textFaults counts faults by family and kind, and notes.
func (d *digest) textFaults(b *strings.Builder) {
	kinds := d.faultKinds()
	for _, family := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(familyRank(a), familyRank(b)), strings.Compare(a, b))
	}) {
		var parts []string
		for _, k := range most(kinds[family]) {
			parts = append(parts, fmt.Sprintf("%s %s", plain(k.Name), grouped(k.Count)))
		}
		b.WriteString(wrap("  "+fmt.Sprintf("%-14s", cut(family, 13)), strings.Join(parts, ", ")))
	}
	for _, f := range d.Faults {
		if f.Failed != "" {
			b.WriteString(wrap("  not injected  ", fmt.Sprintf("event %d, %s: %s", f.Event, plain(f.Name), plain(f.Failed))))
		}
	}
	if len(d.Notes) > 0 {
		var parts []string
		for _, n := range d.noteKinds() {
			parts = append(parts, fmt.Sprintf("%s %s", plain(n.Name), grouped(n.Count)))
		}
		b.WriteString(wrap(fmt.Sprintf("%-16s", "notes"), strings.Join(parts, ", ")))
	}
}
