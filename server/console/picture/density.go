package picture

import (
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// ranges is the largest number of ranges of worker numbers for which an overview counts held workers.
const ranges = 256

// Density is a strip of all used workers by number. The height of each part is the share of held workers.
// Adjacent parts have different shares.
type Density struct {
	Parts []Part
	// Count is the number of workers in the strip, and Last the highest.
	Count string
	Last  uint64
}

// Part is a run of workers with the same share of held workers.
type Part struct {
	X, Width, Y, Height string
	// First and Last are worker numbers, both included. Held of the Of workers between them are held.
	First, Last uint64
	Held, Of    uint64
}

// Text describes the part in words.
func (p Part) Text() string {
	return fmt.Sprintf("workers %d to %d: %d of %d held", p.First, p.Last, p.Held, p.Of)
}

// newDensity returns the strip of a layout; nil if it would show no more than the rows.
func newDensity(l *snowraftv1.LayoutWindows) *Density {
	counts, used := l.GetDensity(), l.GetUsed()
	if len(counts) == 0 || used <= uint64(len(l.GetRows())) {
		return nil
	}
	size := (used + ranges - 1) / ranges
	d := &Density{Count: count(used), Last: used - 1}
	var run *Part
	for i, held := range counts {
		first := uint64(i) * size
		if first >= used {
			break
		}
		of := min(size, used-first)
		if run != nil && run.Held*of == uint64(held)*run.Of { // same share
			run.Last, run.Held, run.Of = first+of-1, run.Held+uint64(held), run.Of+of
			continue
		}
		d.Parts = append(d.Parts, Part{First: first, Last: first + of - 1, Held: uint64(held), Of: of})
		run = &d.Parts[len(d.Parts)-1]
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		share := 100 * float64(min(p.Held, p.Of)) / float64(p.Of)
		p.X, p.Width = percent(100*float64(p.First)/float64(used)), percent(100*float64(p.Of)/float64(used))
		p.Y, p.Height = percent(100-share), percent(share)
	}
	return d
}
