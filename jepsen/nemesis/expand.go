//go:build linux

package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

// mostOverlap is the greatest number of faults at a time.
const mostOverlap = 2

// A fault that is alone begins when the cluster is well, and ends when it is well again:
// that is how long it is quiet before it, at least, and after it, usually.
const (
	quietBefore = 3 * time.Second
	quietAfter  = 12 * time.Second
)

// mostMisses is the number of draws in a row that may be too long for what is left of a run.
const mostMisses = 50

// Expand draws a schedule of faults of these kinds for a run of that length with that
// many members and these workloads: the same for the same seed. Each kind comes up once before any comes up
// again, so that a run that is long enough has all of them.
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
	ends := make([]time.Duration, mostOverlap) // of the faults that may still be there
	for now := time.Duration(between(r, 200*time.Millisecond, 2*time.Second)); ; {
		if len(bag) == 0 {
			bag = slices.Clone(kinds)
			r.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		k := bag[0]
		bag = bag[1:]
		e := k.Draw(r)
		e.Fault, e.Seed = k.Name, r.Uint64()>>11 // exact as a number in JSON
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
			continue // a shorter one may fit
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
