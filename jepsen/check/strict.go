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

	"github.com/snowraft/snowraft/internal/lincheck"
)

const (
	sliceSize    = 250 // calls that porcupine judges at a time
	sliceLimit   = 5 * time.Second
	maxSlices    = 400 // of a sequence: those in which most calls overlap
	maxUndecided = 5   // slices, until the others are left out
)

// judgeStrict fails if the calls of a strict sequence, which are sorted by when they began, are
// not linearizable. The argument in [lincheck.CheckOrder] sees them all; porcupine, which
// believes no argument, some slices. The slice that failed, or else the one in which most
// calls overlap, is drawn.
func (r *Run) judgeStrict(v *Verdict, key string, calls []lincheck.Call, picture bool) error {
	v.Facts["strict_calls"] += int64(len(calls))
	if len(calls) == 0 {
		return nil
	}
	if err := lincheck.CheckOrder(calls); err != nil {
		picture = true
		v.fail("strict sequence %q, with times since the run began: %v", key, err)
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
			v.fail("strict sequence %q, with times since the run began: %v", key, err)
			drawn, picture = part, true
			break
		}
	}
	if !picture {
		return nil
	}
	return draw(filepath.Join(r.Dir, "porcupine-"+url.PathEscape(key)+".html"), drawn)
}

func draw(path string, calls []lincheck.Call) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("the picture of a sequence: %w", err)
	}
	if err := errors.Join(lincheck.Draw(f, calls, sliceLimit), f.Close()); err != nil {
		return fmt.Errorf("the picture of a sequence: %w", err)
	}
	return nil
}

// overlap returns the number of pairs of calls that overlap; the calls are sorted by their begin.
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
