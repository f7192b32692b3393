package mutant

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/internal/test/eighth"
)

// Selection is the part of the planted bugs that flags select.
type Selection struct {
	since string
	slice int
}

// NewSelection adds its flags to others.
func NewSelection(flags *flag.FlagSet) *Selection {
	s := new(Selection)
	flags.StringVar(&s.since, "mutant.since", "", "plant the bugs that may have another result than at this commit")
	flags.IntVar(&s.slice, "mutant.slice", 0, "plant the bugs of this slice, from 1; with -mutant.since, these too")
	return s
}

// Of returns those patches that the flags select: all without flags.
func (s *Selection) Of(ctx context.Context, root string, patches []Patch) ([]Patch, error) {
	if s.slice < 0 || s.slice > eighth.Slices {
		return nil, fmt.Errorf("there is no slice %d: there are 1 to %d", s.slice, eighth.Slices)
	}
	if s.since == "" && s.slice == 0 {
		return patches, nil
	}
	differ := make(map[string]bool)
	if s.since != "" {
		for _, p := range Since(ctx, root, s.since, patches) {
			differ[p.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(patches), func(p Patch) bool { return p.Slice() != s.slice && !differ[p.Name] }), nil
}

// Slice returns the number of the slice that has a bug, from 1.
func (p *Patch) Slice() int {
	return eighth.Of(p.Name)
}

// Since returns the patches that may have another result than at a commit: those that differ in the working tree, and
// those of which a package differs, be it one that the patch changes or one whose tests run. All patches may if this
// package differs, or if git does not know the commit.
func Since(ctx context.Context, root, commit string, patches []Patch) []Patch {
	differ := make(map[string]bool) // files and their directories
	for _, args := range [][]string{
		{"diff", "--name-only", "--no-renames", "--relative", "-z", commit, "--"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // a commit that the caller chose
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return patches
		}
		for file := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == 0 }) {
			differ[file], differ[path.Dir(file)] = true, true
		}
	}
	if differ["internal/build/mutant"] {
		return patches
	}
	return slices.DeleteFunc(slices.Clone(patches), func(p Patch) bool {
		return !differ[p.File] &&
			!slices.ContainsFunc(p.Files, func(file string) bool { return differ[path.Dir(file)] }) &&
			!slices.ContainsFunc(p.Runs, func(r Run) bool { return differ[path.Clean(r.Package)] })
	})
}
