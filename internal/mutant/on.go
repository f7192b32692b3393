//go:build mutants

package mutant

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

var planted atomic.Pointer[[]Bug]

func init() {
	var bugs []Bug
	for name := range strings.SplitSeq(os.Getenv("SNOWRAFT_MUTANTS"), ",") {
		if name != "" {
			bugs = append(bugs, Bug(name))
		}
	}
	planted.Store(&bugs)
}

// On reports whether a bug is planted.
func On(b Bug) bool { return slices.Contains(*planted.Load(), b) }

// Plant plants these bugs and no others; the returned function takes them out again.
func Plant(bugs ...Bug) (undo func()) {
	before := planted.Swap(&bugs)
	return func() { planted.Store(before) }
}
