package siege

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// LeastShare is the part of the calm rate that clients have to keep, in percent.
const LeastShare = 80

// Report is what a siege showed.
type Report struct {
	// Least is the part of the calm rate that is expected, in percent.
	Least     float64
	Protocols []Protocol
	// Time is that of all phases of one kind.
	Time time.Duration
	// Acts counts the acts of strangers by kind.
	Acts map[string]uint64
	// Addresses is the number of addresses they had, Processor the time of the processors that they took.
	Addresses int
	Processor time.Duration
	// Largest is the most memory that a member took, in bytes.
	Largest uint64
	// First is the first failure; empty without one.
	First string
}

// Protocol is what clients of one protocol saw. Rates are in calls per second, by phase.
type Protocol struct {
	Name    string
	Rates   [2]float64
	Failed  uint64
	Slowest time.Duration // call among strangers
}

// share is the part of the calm rate that was kept, in percent.
func (p Protocol) share() float64 { return 100 * p.Rates[Hostile] / p.Rates[Calm] }

// Missing are the kinds of acts that strangers did not make, and the protocols that nobody could call even without
// strangers: with any of them, the siege shows nothing.
func (r Report) Missing() []string {
	var missing []string
	for _, p := range r.Protocols {
		if p.Rates[Calm] == 0 && p.Failed == 0 {
			missing = append(missing, p.Name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Acts)) {
		if r.Acts[kind] == 0 {
			missing = append(missing, kind)
		}
	}
	return missing
}

// Broken are the promises that were not kept.
func (r Report) Broken() []string {
	var broken []string
	for _, p := range r.Protocols {
		if p.Failed > 0 {
			broken = append(broken, fmt.Sprintf("%s: %d calls failed", p.Name, p.Failed))
		}
		if p.share() < r.Least {
			broken = append(broken, fmt.Sprintf("%s: %.1f %% of the rate is left, expected at least %.0f %%", p.Name, p.share(), r.Least))
		}
	}
	return broken
}

// Print writes the report.
func (r Report) Print(out io.Writer) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "calls\tper second, calm\tper second, hostile\tshare\tslowest, hostile\tfailed")
	for _, p := range r.Protocols {
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.1f %%\t%v\t%d\n", p.Name, p.Rates[Calm], p.Rates[Hostile], p.share(), p.Slowest.Round(time.Millisecond), p.Failed)
	}
	_ = w.Flush()
	var acts []string
	var sum uint64
	for _, kind := range slices.SortedFunc(maps.Keys(r.Acts), func(a, b string) int { return cmp.Or(cmp.Compare(r.Acts[b], r.Acts[a]), cmp.Compare(a, b)) }) {
		acts = append(acts, fmt.Sprintf("%s %d", kind, r.Acts[kind]))
		sum += r.Acts[kind]
	}
	seconds := r.Time.Seconds()
	_, _ = fmt.Fprintf(&b, "strangers: %d acts in %.0f s from %d addresses, with %.2f of a processor\n", sum, seconds, r.Addresses, r.Processor.Seconds()/seconds)
	_, _ = fmt.Fprintf(&b, "acts: %s\n", strings.Join(acts, ", "))
	_, _ = fmt.Fprintf(&b, "most memory of a member: %d MiB\n", r.Largest>>20)
	if r.First != "" {
		_, _ = fmt.Fprintln(&b, "the first failure:", r.First)
	}
	for _, one := range r.Broken() {
		_, _ = fmt.Fprintln(&b, "broken:", one)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
