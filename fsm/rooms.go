package fsm

import (
	"iter"
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Room is how far a sequence is from its end.
type Room struct {
	Name string
	Left uint64 // numbers that can still be granted in the period
	Size uint64 // numbers of a whole period, at least 1
	// The period that Left is of; the next one begins with the first grant in it.
	Reset    commandv1.SequenceReset
	TimeZone string
	Period   int32
}

// Rooms returns the sequences that have an end, by name: those whose numbers are bounded by more than their 64 bits. It takes
// no time until it is read, and waits for no lock then.
func (c *Capture) Rooms() iter.Seq[Room] {
	return func(yield func(Room) bool) {
		c.image.sequences.live.Scan(func(name string, q *sequence) bool {
			if !q.spec.ends() {
				return true
			}
			return yield(Room{
				Name: name, Left: q.remaining(), Size: capacity(q.spec.start, q.spec.increment, q.spec.min, q.spec.max),
				Reset: commandv1.SequenceReset(q.spec.reset), TimeZone: q.spec.timeZone, Period: q.period,
			})
		})
	}
}

// ends reports whether the numbers of a sequence are bounded by more than their 64 bits.
func (s *sequenceSpec) ends() bool {
	if s.increment > 0 {
		return s.max != math.MaxInt64
	}
	return s.min != math.MinInt64
}
