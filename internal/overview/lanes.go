package overview

import (
	"slices"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxLanes is the largest number of a member's lanes in an overview. A member has up to 64 lanes per layout.
const maxLanes = 128

// shown returns the lanes of a member that an overview includes. If there are too many, lanes with a problem take precedence,
// then lanes that hold a window.
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

// servesUntil returns the time until which a member can issue IDs of all layouts whose IDs it issues now; 0 if it holds no
// window.
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
