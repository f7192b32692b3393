//go:build linux

package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

// mostOverlap is the greatest number of simultaneous faults.
const mostOverlap = 2

// An Alone fault begins only when the cluster is healthy, and ends when the cluster is healthy again. quietBefore is the
// least time without a fault before it, and quietAfter the usual time after it.
const (
	quietBefore = 3 * time.Second
	quietAfter  = 12 * time.Second
)

// mostMisses is the number of consecutive draws too long for the rest of the run after which the schedule ends.
const mostMisses = 50

// Expand draws a schedule of faults of these kinds for a run of this length, with this number of members and these
// workloads. The same arguments yield the same schedule. Each kind occurs once before any kind repeats, so a run of
// sufficient length has all kinds.
func Expand(seed uint64, kinds []Kind, length time.Duration, members int, workloads []string) []schedule.Event {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool {
		return k.Fits(members, workloads) != nil
	})
	if len(kinds) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var events []schedule.Event
	var bag []Kind
	misses := 0
	ends := make([]time.Duration, mostOverlap) // end times of the faults that may overlap the next one
	for now := time.Duration(between(r, 200*time.Millisecond, 2*time.Second)); ; {
		if len(bag) == 0 {
			bag = slices.Clone(kinds)
			r.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		k := bag[0]
		bag = bag[1:]
		e := k.Draw(r)
		e.Fault, e.Seed = k.Name, r.Uint64()>>11 // exact as a JSON number
		slices.Sort(ends)
		if k.Alone {
			now = max(now, slices.Max(ends)+quietBefore)
		} else {
			now = max(now, ends[0])
		}
		e.At = schedule.Duration(now)
		end := now + time.Duration(e.For) + k.Settles
		if end > length {
			if misses++; misses == mostMisses {
				return events
			}
			continue // a shorter fault may fit
		}
		misses = 0
		events = append(events, e)
		ends[0] = end
		if k.Alone {
			for i := range ends {
				ends[i] = end + quietAfter
			}
		}
		now += time.Duration(between(r, 300*time.Millisecond, 6*time.Second))
	}
}
