package report

import (
	"math"
	"strings"
	"time"
)

// data is the input of the page's script. Times are in seconds since the start of the run,
// latencies in milliseconds.
type data struct {
	Length    float64      `json:"length"`
	Begun     int64        `json:"begun"` // Unix milliseconds
	Width     float64      `json:"width"` // seconds per bucket
	Workloads []string     `json:"workloads"`
	Buckets   [][]float64  `json:"buckets"` // rows of function row
	Faults    []faultDatum `json:"faults"`
	MostTicks int          `json:"mostTicks"`
	Steps     []float64    `json:"steps"`
}

type faultDatum struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Name string  `json:"name"`
}

func (d *digest) data() data {
	all := data{
		Length: d.length().Seconds(), Begun: d.wall(d.zero).UnixMilli(), Width: d.series.width.Seconds(), MostTicks: mostTicks,
		Workloads: d.series.workloads, Buckets: make([][]float64, 0, len(d.series.buckets)), Faults: make([]faultDatum, 0, len(d.Faults)),
	}
	for _, s := range steps {
		all.Steps = append(all.Steps, s.Seconds())
	}
	for _, b := range d.series.buckets {
		all.Buckets = append(all.Buckets, d.row(b))
	}
	since := func(at int64) float64 { return rounded(time.Duration(min(at, d.end) - d.zero).Seconds()) }
	for _, f := range d.Faults {
		name := f.Name
		if len(f.Hosts) > 0 {
			name += " of " + strings.Join(f.Hosts, ", ")
		}
		all.Faults = append(all.Faults, faultDatum{since(f.From), since(f.To), name})
	}
	return all
}

// row returns the rates of operations done, by workload, then the rates of those not done and
// unknown, and three latencies. The rates are per second. It is empty if no operation returned.
func (d *digest) row(b *bucket) []float64 {
	if b == nil {
		return []float64{}
	}
	var all []float64
	for w := range d.series.workloads {
		all = append(all, rounded(d.series.perSecond(b.ok[w])))
	}
	all = append(all, rounded(d.series.perSecond(b.failed)), rounded(d.series.perSecond(b.unknown)))
	for _, l := range []time.Duration{b.latencies.quantile(0.5), b.latencies.quantile(0.99), b.latencies.most} {
		all = append(all, rounded(float64(l)/float64(time.Millisecond)))
	}
	return all
}

// rounded rounds to three decimals.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }
