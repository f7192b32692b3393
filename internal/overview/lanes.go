package overview

import (
	"slices"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxLanes is the most lanes of a member in an overview. A member has up to 64 of each layout.
const maxLanes = 128

// shown returns the lanes of a member that an overview has: if they are too many, those with a problem first, then those
// that hold a window.
func shown(lanes []*snowraftv1.Lane) []*snowraftv1.Lane {
	if len(lanes) <= maxLanes {
		return lanes
	}
	lanes = slices.Clone(lanes) // shared with earlier overviews
	rank := func(l *snowraftv1.Lane) int {
		switch {
		case l.GetProblem() != "":
			return 0
		case !l.GetIdle():
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(lanes, func(a, b *snowraftv1.Lane) int { return rank(a) - rank(b) })
	return lanes[:maxLanes]
}

// servesUntil returns until when a member issues IDs of every layout that it issues IDs of; 0 if it holds no window.
func servesUntil(lanes []*snowraftv1.Lane) int64 {
	latest := make(map[string]int64)
	for _, l := range lanes {
		if !l.GetIdle() && l.GetServeUntilAtMs() > latest[l.GetLayout()] {
			latest[l.GetLayout()] = l.GetServeUntilAtMs()
		}
	}
	var earliest int64
	for _, until := range latest {
		if earliest == 0 || until < earliest {
			earliest = until
		}
	}
	return earliest
}
