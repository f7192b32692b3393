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

// LeastShare is the share of the calm rate that clients must keep by default, in percent.
const LeastShare = 80

// Report holds the results of a siege.
type Report struct {
	// Least is the share of the calm rate that clients must keep, in percent.
	Least     float64
	Protocols []Protocol
	// Time is the total duration of the phases of one kind.
	Time time.Duration
	// Acts counts the acts of strangers by kind.
	Acts map[string]uint64
	// Addresses is the number of the strangers' addresses. Processor is the processor time that the strangers used.
	Addresses int
	Processor time.Duration
	// Largest is the maximum memory of a member, in bytes.
	Largest uint64
	// First describes the first failure; empty if no call failed.
	First string
}

// Protocol holds the results of the clients of one protocol. Rates are in calls per second, indexed by Calm and
// Hostile.
type Protocol struct {
	Name    string
	Rates   [2]float64
	Failed  uint64
	Slowest time.Duration // slowest call in hostile phases
}

// share returns the hostile rate in percent of the calm rate.
func (p Protocol) share() float64 { return 100 * p.Rates[Hostile] / p.Rates[Calm] }

// Missing lists the kinds of acts that strangers did not make, and the protocols whose calm rate is 0 although no call
// failed. The siege shows nothing if the list is not empty.
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

// Broken lists the broken promises: failed calls and low rates.
func (r Report) Broken() []string {
	var broken []string
	for _, p := range r.Protocols {
		if p.Failed > 0 {
			broken = append(broken, fmt.Sprintf("%s: %d calls failed", p.Name, p.Failed))
		}
		if p.share() < r.Least {
			broken = append(broken, fmt.Sprintf("%s: kept %.1f %% of the rate, expected at least %.0f %%", p.Name, p.share(), r.Least))
		}
	}
	return broken
}

// Print writes the report to out.
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
	_, _ = fmt.Fprintf(&b, "strangers: %d acts in %.0f s from %d addresses, using %.2f of a processor\n",
		sum, seconds, r.Addresses, r.Processor.Seconds()/seconds)
	_, _ = fmt.Fprintf(&b, "acts: %s\n", strings.Join(acts, ", "))
	_, _ = fmt.Fprintf(&b, "maximum memory of a member: %d MiB\n", r.Largest>>20)
	if r.First != "" {
		_, _ = fmt.Fprintln(&b, "first failure:", r.First)
	}
	for _, one := range r.Broken() {
		_, _ = fmt.Fprintln(&b, "broken:", one)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
