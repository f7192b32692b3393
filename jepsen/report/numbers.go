package report

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

// numbers returns the main counts of a run.
func (d *digest) numbers() []fact {
	ids := grouped(d.tally.ids) + " recorded by clients"
	if n, ok := d.idsChecked(); ok {
		ids = grouped(n) + " checked, " + ids
	}
	last := uint64(0)
	if len(d.leaderTerms) > 0 {
		last = d.leaderTerms[len(d.leaderTerms)-1].term
	}
	return []fact{
		{"operations", fmt.Sprintf("%s: %s done, %s not done, %s unknown", grouped(d.tally.all),
			grouped(d.tally.of(history.OK)), grouped(d.tally.of(history.Fail)), grouped(d.tally.of(history.Info)))},
		{"IDs", ids},
		{"numbers", grouped(d.tally.numbers) + " recorded by clients"},
		{"latency", d.latency()},
		{"leader changes", fmt.Sprintf("%s observed; last term with a leader: %d", grouped(d.leaderChanges()), last)},
		{"processes", fmt.Sprintf("%s; %s of members", plural(len(d.Processes), "start"), grouped(d.memberStarts()))},
		{"faults", grouped(len(d.Faults))},
	}
}

// latency describes the latencies of the operations done.
func (d *digest) latency() string {
	var all latencies
	for _, b := range d.series.buckets {
		if b != nil {
			all.merge(&b.latencies)
		}
	}
	if all.total == 0 {
		return "no operation done"
	}
	return fmt.Sprintf("50 %% within %s, 99 %% within %s, longest %s (operations done)",
		short(all.quantile(0.5)), short(all.quantile(0.99)), short(all.most))
}

func (d *digest) memberStarts() int {
	n := 0
	for _, p := range d.Processes {
		if !p.Generator {
			n++
		}
	}
	return n
}

// faultKinds counts faults by family and name.
func (d *digest) faultKinds() map[string]map[string]int {
	kinds := make(map[string]map[string]int)
	for _, f := range d.Faults {
		if kinds[f.Family] == nil {
			kinds[f.Family] = make(map[string]int)
		}
		kinds[f.Family][f.Name]++
	}
	return kinds
}

// noteKinds counts notes by kind.
func (d *digest) noteKinds() []named {
	counts := make(map[string]int)
	for _, n := range d.Notes {
		counts[n.What]++
	}
	return most(counts)
}

// leftOut returns the number of failures of a verdict that are counted but not listed.
func leftOut(v check.Verdict) int64 {
	return max(v.Facts["failures"]-int64(len(v.Failures)), 0)
}

// percent formats a share in percent. A small share is never 0, and an incomplete one never 100.
func percent(share float64) string {
	if share > 0 && share < 0.1 {
		return "<0.1 %"
	}
	if share < 100 {
		share = min(math.Round(share*10)/10, 99.9) // 100 means all
	}
	return fmt.Sprintf("%.1f %%", share)
}
