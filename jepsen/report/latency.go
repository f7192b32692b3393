package report

import (
	"math"
	"math/bits"
	"time"
)

const (
	// Latencies are counted in slots, stepBits of them to a doubling: what is read from them is
	// too great by at most an eighth.
	stepBits = 3
	// shortest is the latency up to which they all are in the first slots.
	shortest = 10 * time.Microsecond
	// doublings are how often the shortest is doubled before all is in the last slot: 84 s.
	doublings = 23
	slots     = (doublings + 1) << stepBits
	// unit is the width of the first slots.
	unit = shortest >> stepBits
)

// latencies counts latencies.
type latencies struct {
	counts [slots]uint32
	total  uint64
	most   time.Duration // the greatest, to the nanosecond
}

// add counts one. A negative one counts as 0.
func (l *latencies) add(d time.Duration) {
	d = max(d, 0)
	if c := &l.counts[slot(d)]; *c < math.MaxUint32 {
		*c++
	}
	l.total++
	l.most = max(l.most, d)
}

// merge adds those of another.
func (l *latencies) merge(o *latencies) {
	for i, n := range o.counts {
		l.counts[i] = uint32(min(uint64(l.counts[i])+uint64(n), math.MaxUint32))
	}
	l.total += o.total
	l.most = max(l.most, o.most)
}

// quantile is the latency that the share q of all, in (0, 1], doesn't exceed; 0 if there are none.
func (l *latencies) quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(l.total)))
	seen := uint64(0)
	for i, n := range l.counts {
		if seen += uint64(n); n > 0 && seen >= rank {
			return min(slotEnd(i), l.most)
		}
	}
	return l.most
}

// slot is where a latency is counted. At first slots are a unit wide; later each doubling
// has 1<<stepBits of them.
func slot(d time.Duration) int {
	u := uint64(d) / uint64(unit)
	if u < 1<<stepBits {
		return int(u)
	}
	exponent := bits.Len64(u) - 1 - stepBits
	return min(exponent<<stepBits+int(u>>exponent), slots-1)
}

// slotEnd is the end of a slot, which isn't in it anymore.
func slotEnd(i int) time.Duration {
	if i < 1<<stepBits {
		return time.Duration(i+1) * unit
	}
	exponent := i>>stepBits - 1
	mantissa := i&(1<<stepBits-1) + 1<<stepBits
	return time.Duration(mantissa+1) << exponent * unit
}
