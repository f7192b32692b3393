package report

import (
	"fmt"
	"time"
)

const (
	rateHeight    = 150
	failedHeight  = 56
	latencyHeight = 130
)

// rates draws the operations per second by their return: those done above, those not done
// or unknown below on a separate scale.
func (d *digest) rates() *figure {
	s := d.series
	f := &figure{
		Title: "Operations per second",
		About: fmt.Sprintf("by time of return, in steps of %v: done above; not done and unknown below, on a separate scale", s.width),
	}
	sums := make([]uint32, len(s.buckets)) // sums of the workloads so far
	layers := [][]uint32{append([]uint32(nil), sums...)}
	for w, name := range s.workloads {
		for i, b := range s.buckets {
			if b != nil {
				sums[i] += b.ok[w]
			}
		}
		layers = append(layers, append([]uint32(nil), sums...))
		f.Legend = append(f.Legend, key{Class: fmt.Sprintf("w%d", w), Name: plain(name)})
	}
	d.stack(f.pane(rateHeight), layers, "w")

	layers = [][]uint32{make([]uint32, len(s.buckets)), make([]uint32, len(s.buckets)), make([]uint32, len(s.buckets))}
	for i, b := range s.buckets {
		if b != nil {
			layers[1][i], layers[2][i] = b.failed, b.failed+b.unknown
		}
	}
	d.stack(f.pane(failedHeight), layers, "not")
	f.Legend = append(f.Legend, key{Class: "not0", Name: "not done"}, key{Class: "not1", Name: "unknown"})
	return f
}

// stack draws the areas between consecutive layers, each of which is at least as great as
// the previous one. The index of an area ends its class.
func (d *digest) stack(p *pane, layers [][]uint32, class string) {
	highest := 0.0
	for _, n := range layers[len(layers)-1] {
		highest = max(highest, d.series.perSecond(n))
	}
	scale := linear(highest, float64(p.Height))
	p.scale(scale)
	heights := func(counts []uint32) []num {
		ys := make([]num, len(counts))
		for i, n := range counts {
			ys[i] = scale.y(d.series.perSecond(n))
		}
		return ys
	}
	for i := range len(layers) - 1 {
		if shape := d.area(heights(layers[i]), heights(layers[i+1])); shape != "" {
			p.Paths = append(p.Paths, path{shape, fmt.Sprintf("area %s%d", class, i)})
		}
	}
}

// delays draws the latencies of the operations done.
func (d *digest) delays() *figure {
	f := &figure{Title: "Latency", About: fmt.Sprintf("operations done, in steps of %v, on a logarithmic scale", d.series.width)}
	f.Legend = []key{{"line p50", "50 % within", true}, {"line p99", "99 % within", true}, {"line longest", "longest", true}}
	least, greatest := time.Duration(0), time.Duration(0)
	for _, b := range d.series.buckets {
		if b == nil || b.latencies.total == 0 {
			continue
		}
		if half := b.latencies.quantile(0.5); least == 0 || half < least {
			least = half
		}
		greatest = max(greatest, b.latencies.most)
	}
	if greatest == 0 {
		least, greatest = time.Millisecond, time.Second
	}
	p := f.pane(latencyHeight)
	scale := logarithmic(least, greatest, latencyHeight)
	p.scale(scale)
	var half, most, longest stairs
	for i, b := range d.series.buckets {
		if b == nil || b.latencies.total == 0 {
			continue
		}
		longest.add(d, i, scale.y(float64(b.latencies.most)))
		most.add(d, i, scale.y(float64(b.latencies.quantile(0.99))))
		half.add(d, i, scale.y(float64(b.latencies.quantile(0.5))))
	}
	p.Paths = []path{{longest.b.String(), "line longest"}, {most.b.String(), "line p99"}, {half.b.String(), "line p50"}}
	return f
}
