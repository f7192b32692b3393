package overview

import snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"

// minSpan is the shortest time between answers for computing a rate, in milliseconds.
const minSpan = 500

// rates holds the rates of a member between two of its answers.
type rates struct {
	last   *snowraftv1.Issued
	at     int64 // time of last, on the monotonic clock, ms
	known  bool
	values [3]float64 // IDs, numbers, refusals per second
}

// recordCounters records the counters of an answer. Counters that fell belong to a restarted member.
func (r *rates) recordCounters(now *snowraftv1.Issued, at int64) {
	if now == nil { // member of an older version
		return
	}
	span := at - r.at
	if r.last != nil && span < minSpan {
		return
	}
	if r.last != nil {
		before, after := counters(r.last), counters(now)
		r.known = true
		for i := range after {
			if after[i] < before[i] {
				r.known = false
				break
			}
			r.values[i] = float64(after[i]-before[i]) * 1000 / float64(span)
		}
	}
	r.last, r.at = now, at
}

func counters(i *snowraftv1.Issued) [3]uint64 {
	return [3]uint64{i.GetIds(), i.GetNumbers(), i.GetRefusals()}
}

// show writes the rates of a member that answers.
func (r *rates) show(v *snowraftv1.MemberView) {
	if r.known {
		ids, numbers, refusals := r.values[0], r.values[1], r.values[2]
		v.IdsPerSecond, v.NumbersPerSecond, v.RefusalsPerSecond = &ids, &numbers, &refusals
	}
}
