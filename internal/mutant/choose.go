package mutant

import (
	"context"
	"hash/fnv"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// Slices is the number of slices of planted bugs.
const Slices = 8

// Slice returns the number of the slice that has a bug, from 1.
func (p *Patch) Slice() int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.Name)) // never fails
	return 1 + int(h.Sum32()%Slices)
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
	if differ["internal/mutant"] {
		return patches
	}
	return slices.DeleteFunc(slices.Clone(patches), func(p Patch) bool {
		return !differ[p.File] &&
			!slices.ContainsFunc(p.Files, func(file string) bool { return differ[path.Dir(file)] }) &&
			!slices.ContainsFunc(p.Runs, func(r Run) bool { return differ[path.Clean(r.Package)] })
	})
}
