package check

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowraft/snowraft/internal/test/lincheck"
)

const (
	sliceSize    = 250             // calls per slice for porcupine
	sliceLimit   = 5 * time.Second // time limit of porcupine per slice
	maxSlices    = 400             // slices judged per sequence: those with the most overlap
	maxUndecided = 5               // undecided slices after which the others are skipped
)

// judgeStrict adds a failure if the calls to a strict sequence are not linearizable. [lincheck.CheckOrder] checks all
// calls by a property of such sequences. Porcupine, which does not rely on the property, checks slices of the calls.
// If picture is true or a check fails, judgeStrict draws the failed slice, or else the slice with the most overlap.
func (r *Run) judgeStrict(v *Verdict, key string, calls []lincheck.Call, picture bool) error {
	v.Facts["strict_calls"] += int64(len(calls))
	if len(calls) == 0 {
		return nil
	}
	if err := lincheck.CheckOrder(calls); err != nil {
		picture = true
		v.fail("strict sequence %q (times since the run's start): %v", key, err)
	}
	slices.SortFunc(calls, func(a, b lincheck.Call) int { return a.Began.Compare(b.Began) })
	parts := slices.Collect(slices.Chunk(calls, sliceSize))
	slices.SortStableFunc(parts, func(a, b []lincheck.Call) int { return cmp.Compare(overlap(b), overlap(a)) })
	drawn, undecided := parts[0], 0
	for _, part := range parts[:min(len(parts), maxSlices)] {
		err := lincheck.CheckLinear(part, len(part), sliceLimit)
		if errors.Is(err, lincheck.ErrUndecided) {
			v.Facts["slices_undecided"]++
			if undecided++; undecided == maxUndecided {
				break
			}
			continue
		}
		v.Facts["slices"]++
		if err != nil {
			v.fail("strict sequence %q (times since the run's start): %v", key, err)
			drawn, picture = part, true
			break
		}
	}
	if !picture {
		return nil
	}
	return draw(filepath.Join(r.Dir, "porcupine-"+url.PathEscape(key)+".html"), drawn)
}

// draw writes porcupine's visualization of calls to a new file.
func draw(path string, calls []lincheck.Call) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw strict sequence: %w", err)
	}
	if err := errors.Join(lincheck.Draw(f, calls, sliceLimit), f.Close()); err != nil {
		return fmt.Errorf("draw strict sequence: %w", err)
	}
	return nil
}

// overlap returns the number of pairs of overlapping calls. Requires calls sorted by their start.
func overlap(calls []lincheck.Call) int {
	pairs := 0
	for i, a := range calls {
		for _, b := range calls[i+1:] {
			if b.Began.After(a.Ended) {
				break
			}
			pairs++
		}
	}
	return pairs
}
