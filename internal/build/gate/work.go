package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/test/eighth"
)

// sliceFile holds the number of the slice that the gate runs next, 1 to 8. The last commit of a piece of work moves it.
const sliceFile = ".ci/slice"

// work is the state of the tree that the gate judges.
type work struct {
	root    string
	head    string // commit
	clean   bool   // the tree is that of head
	slice   int    // 1 to eighth.Slices
	base    string // commit that changes count from; empty: everything counts as changed
	changed []string
	seed    uint32 // seed of random tests; a property of head
	nightly bool
}

// readWork reads the state of a repository. Changes count from the commit since or, if it is empty, from the last but one
// move of the slice: the last move ends the piece of work that is being judged.
func readWork(ctx context.Context, root, since string) (*work, error) {
	w := &work{root: root, base: since}
	var err error
	if w.head, err = output(ctx, root, "git", "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(w.head[:8], 16, 32)
	if err != nil {
		return nil, err
	}
	w.seed = uint32(seed)
	status, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	w.clean = status == ""
	if w.slice, err = readSlice(filepath.Join(root, sliceFile)); err != nil {
		return nil, err
	}
	if w.base == "" {
		moves, err := output(ctx, root, "git", "log", "--format=%H", "--", sliceFile)
		if err != nil {
			return nil, err
		}
		if moves := strings.Fields(moves); len(moves) > 1 {
			w.base = moves[1]
		}
	}
	if w.base == "" {
		return w, nil
	}
	differ, err := output(ctx, root, "git", "diff", "--name-only", "--no-renames", w.base)
	if err != nil {
		return nil, err
	}
	added, err := output(ctx, root, "git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	w.changed = slices.DeleteFunc(strings.Split(differ+"\n"+added, "\n"), func(s string) bool { return s == "" || s == sliceFile })
	return w, nil
}

func readSlice(file string) (int, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || n < 1 || n > eighth.Slices {
		return 0, fmt.Errorf("%s: expected a number from 1 to %d", file, eighth.Slices)
	}
	return n, nil
}

// changes reports whether a changed path begins with one of the prefixes.
func (w *work) changes(prefixes ...string) bool {
	return w.base == "" || slices.ContainsFunc(w.changed, func(path string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
	})
}

// inSlice reports whether the slice has a check.
func (w *work) inSlice(name string) bool {
	return eighth.Of(name) == w.slice
}

// name names the state of the tree in paths.
func (w *work) name() string {
	if w.clean {
		return w.head[:12]
	}
	return w.head[:12] + "-changed"
}

func (w *work) String() string {
	since := "everything counts as changed, because the history has no two moves of the slice"
	if w.base != "" {
		since = fmt.Sprintf("%d files changed since %s", len(w.changed), w.base[:min(12, len(w.base))])
	}
	return fmt.Sprintf("commit %s, slice %d of %d, seed %d, %s", w.name(), w.slice, eighth.Slices, w.seed, since)
}
