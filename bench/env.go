package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// env is the environment in which sections measure.
type env struct {
	options
	root string // directory of the repository
	dir  string // directory for data, removed at the end
	out  io.Writer
	// given holds the addresses that processes use.
	given map[string]bool
}

func newEnv(o options) (*env, error) {
	repository, err := root()
	if err != nil {
		return nil, err
	}
	if o.snowraft == "" {
		o.snowraft = filepath.Join(repository, "bin", "snowraft")
	}
	if _, err := os.Stat(o.snowraft); err != nil {
		return nil, fmt.Errorf("%w: expected the program, run \"make build\" first", err)
	}
	dir, err := os.MkdirTemp("", "snowraft-bench-")
	if err != nil {
		return nil, err
	}
	return &env{options: o, root: repository, dir: dir, out: os.Stdout, given: map[string]bool{}}, nil
}

// brief reports whether this run only checks that measuring works, with small numbers.
func (e *env) brief() bool { return e.duration < 500*time.Millisecond }

func (e *env) close() error { return os.RemoveAll(e.dir) }

// document returns the path of the file with a section's table.
func (e *env) document(s section) string { return filepath.Join(e.root, "docs", s.file()) }

// measureAll measures sections. It prints and writes each table at once, so that an interrupted run
// loses no finished table.
func (e *env) measureAll(ctx context.Context, chosen []section) error {
	var failed error
	for _, s := range chosen {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		fmt.Fprintf(e.out, "## %s (%s)\n\n", s.title, s.name)
		t, err := s.measure(ctx, e)
		if skipped, ok := errors.AsType[*skippedError](err); ok {
			fmt.Fprintf(e.out, "Skipped: %v.\n\n", skipped)
			continue
		}
		if err != nil {
			fmt.Fprintf(e.out, "Failed: %v\n\n", err)
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		body := t.markdown() + "\n" + e.caption(t) + "\n"
		fmt.Fprintln(e.out, body)
		if e.write {
			if err := replaceIn(e.document(s), s.name, body); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// caption returns the description of a table's numbers.
func (e *env) caption(t *table) string {
	of := t.how
	if of == "" {
		of = e.turns(e.duration)
	}
	return of + ". Machine: " + machine() + "."
}

// turns returns a description of figures that are medians of the rounds.
func (e *env) turns(d time.Duration) string {
	if e.rounds == 1 {
		return fmt.Sprintf("One turn of %s each", inSeconds(d))
	}
	return fmt.Sprintf("Medians of %d turns of %s each", e.rounds, inSeconds(d))
}

// skippedError is the reason why a section cannot be measured here.
type skippedError struct{ why string }

func (e *skippedError) Error() string { return e.why }

// temp creates a directory for data and returns its path.
func (e *env) temp(of string) (string, error) { return os.MkdirTemp(e.dir, of+"-") }
