package client

import "math"

// rateWindow is the shortest time, in milliseconds, over which the rate is measured. Over a shorter time, a
// few calls in a row would look like an enormous load.
const rateWindow = 250

// measure updates the rate and the capacity.
func (f *filler) measure(now int64) {
	o, taken := &f.b.opts, f.b.current.Load().used()-f.gone
	elapsed := float64(now - f.since)
	span := float64(max(1, o.span.Milliseconds()))
	recent := float64(taken-f.base) / max(elapsed, rateWindow)
	if recent > f.rate {
		f.rate = recent // a sudden load takes effect at once
	} else if elapsed >= rateWindow {
		f.rate += (recent - f.rate) * min(1, elapsed/span)
	}
	if elapsed >= rateWindow {
		f.since, f.base = now, taken
	}
	if f.b.starved.Swap(false) && f.put > f.boosted {
		// The capacity was too small, whatever the rate was: callers used all IDs before more could arrive.
		f.boosted = f.put
		f.rate = max(f.rate, 2*float64(f.capacity)/span)
	}
	f.capacity = uint64(max(float64(o.least), min(math.Ceil(f.rate*span), float64(o.most))))
	f.b.mu.Lock()
	f.b.stats.Capacity = int(f.capacity)
	f.b.mu.Unlock()
}
