package client

import "math"

// rateWindow is the shortest time, in milliseconds, over which the rate is measured: a
// few calls in a row would look like an enormous load.
const rateWindow = 250

// measure looks at the rate and decides how many IDs a full buffer has.
func (f *filler) measure(now int64) {
	o, taken := &f.b.opts, f.b.current.Load().used()-f.gone
	elapsed := float64(now - f.since)
	span := float64(max(1, o.span.Milliseconds()))
	recent := float64(taken-f.base) / max(elapsed, rateWindow)
	if recent > f.rate {
		f.rate = recent // a load that jumps is not to wait
	} else if elapsed >= rateWindow {
		f.rate += (recent - f.rate) * min(1, elapsed/span)
	}
	if elapsed >= rateWindow {
		f.since, f.base = now, taken
	}
	if f.b.starved.Swap(false) && f.put > f.boosted {
		// It was too small, whatever the rate was: what came was used up before more could come.
		f.boosted = f.put
		f.rate = max(f.rate, 2*float64(f.capacity)/span)
	}
	f.capacity = uint64(max(float64(o.least), min(math.Ceil(f.rate*span), float64(o.most))))
	f.b.mu.Lock()
	f.b.stats.Capacity = int(f.capacity)
	f.b.mu.Unlock()
}
