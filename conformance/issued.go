package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// runResult is the answer of the operation run.
type runResult struct {
	Issued    int             `json:"issued"`
	Errors    map[string]int  `json:"errors"`
	LastError json.RawMessage `json:"last_error"` // a text, or the error of an answer
	Pinned    int             `json:"pinned"`
}

// job is a run in progress.
type job struct {
	*pending
	file  string
	of    string // the kind of what it issues, for people
	count int    // requested number; 0 if only the time is limited
}

// run starts a run with the given arguments, and a file of its own.
func (s *suite) run(d *driver, with args) (*job, error) {
	f, err := os.CreateTemp(s.dir, "issued-*")
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	with["file"] = f.Name()
	p, err := d.begin("run", with)
	return &job{pending: p, file: f.Name()}, err
}

// longRun bounds a run of millions of IDs.
const longRun = 30 * time.Minute

// issued waits for the end of a run, and returns what it issued.
func (j *job) issued() (all []uint64, result runResult, err error) {
	if _, err := j.within(longRun, &result); err != nil {
		return nil, result, err
	}
	if result.LastError != nil && result.Issued == 0 {
		return nil, result, fmt.Errorf("a run issued nothing: %s", result.LastError)
	}
	all, err = read(j.file)
	if err == nil && len(all) != result.Issued {
		err = fmt.Errorf("%s has %d numbers, but the run reported %d", filepath.Base(j.file), len(all), result.Issued)
	}
	return all, result, err
}

// read returns the numbers in a file.
func read(name string) ([]uint64, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(raw)%8 != 0 {
		return nil, fmt.Errorf("%s ends within a number", filepath.Base(name))
	}
	all := make([]uint64, len(raw)/8)
	for i := range all {
		all[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	return all, os.Remove(name)
}

// distinct returns an error if a number is in the lists twice. It sorts.
func distinct(lists ...[]uint64) error {
	all := slices.Concat(lists...)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			return fmt.Errorf("issued twice: %d", all[i])
		}
	}
	return nil
}

// numbers parses decimal numbers, which must all be there.
func numbers(texts []string, count int) ([]uint64, error) {
	if len(texts) != count {
		return nil, fmt.Errorf("%d numbers, want %d", len(texts), count)
	}
	all := make([]uint64, 0, count)
	for _, text := range texts {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// ascending returns an error unless each number is greater than the one before.
func ascending(all []uint64) error {
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			return fmt.Errorf("%d after %d", all[i], all[i-1])
		}
	}
	return nil
}
