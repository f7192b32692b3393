package report

import (
	"math"
	"math/bits"
	"time"
)

const (
	// stepBits is the binary logarithm of the number of slots per doubling of the latency.
	// Quantiles are therefore too great by at most an eighth.
	stepBits = 3
	// shortest is the end of the first group of slots, which are all one unit wide.
	shortest = 10 * time.Microsecond
	// doublings is the number of doublings of shortest until the end of the last slot: 84 s.
	doublings = 23
	slots     = (doublings + 1) << stepBits
	// unit is the width of the first slots.
	unit = shortest >> stepBits
)

// latencies is a histogram of latencies.
type latencies struct {
	counts [slots]uint32
	total  uint64
	most   time.Duration // greatest latency, exact
}

// add counts a latency. A negative latency counts as 0.
func (l *latencies) add(d time.Duration) {
	d = max(d, 0)
	if c := &l.counts[slot(d)]; *c < math.MaxUint32 {
		*c++
	}
	l.total++
	l.most = max(l.most, d)
}

// merge adds the counts of o.
func (l *latencies) merge(o *latencies) {
	for i, n := range o.counts {
		l.counts[i] = uint32(min(uint64(l.counts[i])+uint64(n), math.MaxUint32))
	}
	l.total += o.total
	l.most = max(l.most, o.most)
}

// quantile returns the latency that a share q, in (0, 1], of the latencies does not exceed; 0 if there are none.
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

// slot returns the slot of a latency. The first slots are one unit wide; each later doubling
// has 1<<stepBits slots.
func slot(d time.Duration) int {
	u := uint64(d) / uint64(unit)
	if u < 1<<stepBits {
		return int(u)
	}
	exponent := bits.Len64(u) - 1 - stepBits
	return min(exponent<<stepBits+int(u>>exponent), slots-1)
}

// slotEnd returns the exclusive end of a slot.
func slotEnd(i int) time.Duration {
	if i < 1<<stepBits {
		return time.Duration(i+1) * unit
	}
	exponent := i>>stepBits - 1
	mantissa := i&(1<<stepBits-1) + 1<<stepBits
	return time.Duration(mantissa+1) << exponent * unit
}
