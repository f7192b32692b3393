package report

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	clockHeight = 160
	// mostLines is the number of colors for members' clocks.
	mostLines = 8
)

// offset returns the offset of a member's clock from the harness's at the middle of the
// status call.
func offset(s history.Status) time.Duration {
	half := time.Duration(s.Return-s.Call) / 2
	return time.Duration(s.ClockMillis)*time.Millisecond - time.Duration(s.WallNanos) + half
}

// clocks draws the offset of each member's clock: the greatest offset of each bucket.
func (d *digest) clocks() *figure {
	f := &figure{
		Title: "Clocks",
		About: "offset of each member's clock from the harness's, as reported by the member; logarithmic beyond 10 ms",
	}
	offsets := make(map[string]map[int]time.Duration) // keys: member, bucket
	greatest, last := time.Duration(0), 0
	for _, s := range d.Statuses {
		if s.Error != "" || s.ClockMillis == 0 {
			continue
		}
		if offsets[s.Member] == nil {
			offsets[s.Member] = make(map[int]time.Duration)
		}
		i := d.series.index(s.Return)
		if off := offset(s); off.Abs() >= offsets[s.Member][i].Abs() {
			offsets[s.Member][i] = off
		}
		greatest, last = max(greatest, offset(s).Abs()), max(last, i)
	}
	p := f.pane(clockHeight)
	scale := signed(greatest)
	p.scale(scale)
	for n, name := range d.hosts() {
		var line stairs
		hold := int(time.Second/d.series.width) + 1 // buckets without a status that are not a gap; a status comes twice per second
		for i := 0; i <= last; i++ {
			for back := range hold {
				if off, ok := offsets[name][i-back]; ok {
					line.add(d, i, scale.y(float64(off)))
					break
				}
			}
		}
		if line.b.Len() == 0 {
			continue
		}
		class := fmt.Sprintf("m%d", n%mostLines)
		p.Paths = append(p.Paths, path{line.b.String(), "line " + class})
		f.Legend = append(f.Legend, key{"line " + class, plain(name), true})
	}
	return f
}
