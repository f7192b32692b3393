package breadth_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/snowraft/snowraft/internal/test/breadth"
)

// numbers is the world of the numbers modulo 16, in which steps add 1 and 5. The number broken breaks a promise.
func numbers(broken int) breadth.World[int] {
	return breadth.World[int]{
		Key: func(n int) uint64 { return uint64(n) },
		Steps: func(n int) iter.Seq[breadth.Step[int]] {
			return func(yield func(breadth.Step[int]) bool) {
				for name, by := range map[string]int{"one": 1, "five": 5} {
					s := breadth.Step[int]{Name: name, Next: (n + by) % 16}
					if s.Next == broken {
						s.Err = errors.New("broken")
					}
					if !yield(s) {
						return
					}
				}
			}
		},
	}
}

func TestEachStateIsSeenOnce(t *testing.T) {
	for depth, want := range []breadth.Seen{{States: 1}, {3, 2}, {6, 6}, {10, 12}} {
		if seen, err := numbers(-1).Walk(depth); seen != want || err != nil {
			t.Errorf("Walk(%d) = %+v, %v, want %+v", depth, seen, err, want)
		}
	}
	if seen, err := numbers(-1).Walk(100); seen != (breadth.Seen{States: 16, Steps: 32}) || err != nil {
		t.Errorf("Walk(100) = %+v, %v, want all 16 states", seen, err)
	}
}

func TestShortestPathToABrokenPromise(t *testing.T) {
	if seen, err := numbers(10).Walk(1); err != nil {
		t.Errorf("Walk(1) = %+v, %v", seen, err)
	}
	if seen, err := numbers(10).Walk(10); err == nil || err.Error() != "broken after five, five" {
		t.Errorf("Walk(10) = %+v, %v, want two steps of five", seen, err)
	}
}
