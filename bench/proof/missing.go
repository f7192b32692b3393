//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// A job is a run of a system with a seed.
type job struct {
	system
	seed uint64
}

// missing returns the runs of the chosen systems and seeds without an outcome of today's version, settings and faults. The longest of
// a seed come first, so that they do not run alone at the end. missing names the others.
func missing(ctx context.Context, o options, chosen []system, out io.Writer) ([]job, error) {
	chosen = slices.Clone(chosen)
	slices.SortStableFunc(chosen, func(a, b system) int { return cmp.Compare(b.trial.course(0).length, a.trial.course(0).length) })
	versions := make(map[string]string)
	for _, s := range chosen {
		var err error
		if versions[s.name], err = s.version(ctx); err != nil {
			return nil, err
		}
	}
	var jobs []job
	for _, seed := range o.seeds {
		for _, s := range chosen {
			one, err := load(o.outcome(seed, s))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err != nil || one.Version != versions[s.name] || s.suits(one) != nil {
				jobs = append(jobs, job{s, seed})
				continue
			}
			if _, err := fmt.Fprintf(out, "seed %d, %s has run; remove %s to repeat it\n", seed, s.name, o.outcome(seed, s)); err != nil {
				return nil, err
			}
		}
	}
	return jobs, nil
}

// load reads an outcome.
func load(path string) (outcome, error) {
	var one outcome
	text, err := os.ReadFile(path)
	if err != nil {
		return one, err
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return one, fmt.Errorf("%s: %w", path, err)
	}
	return one, nil
}

// suits returns an error if a run had other settings or faults than those of today.
func (s system) suits(one outcome) error {
	if one.Settings != s.settings {
		return fmt.Errorf("ran with other settings: %q", one.Settings)
	}
	if want := s.meets(s.trial.course(one.Seed)); !slices.Equal(one.Faults, want) {
		return fmt.Errorf("had other faults: %q", one.Faults)
	}
	return nil
}

// again counts the raw file of an outcome again, and returns an error unless the run counts, with the same numbers.
func (o options) again(s system, one outcome) error {
	if err := s.suits(one); err != nil {
		return err
	}
	raw := o.raw(one.Seed, s)
	counted, err := tally(raw)
	if err != nil {
		return err
	}
	if counted.Calls != one.Calls || counted.Failed != one.Failed || counted.Duplicates != one.Duplicates || counted.Longest != one.Longest {
		return fmt.Errorf("%s comes to other numbers than its outcome", raw)
	}
	return s.judge(s.trial.course(one.Seed), raw, counted)
}
