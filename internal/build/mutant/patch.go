// Package mutant plants deliberate bugs, to show that the tests can fail.
//
// A bug is a patch of the product's sources in a folder testdata/mutants, next to the tests that
// catch it. The go command builds with the patched sources in place of the real ones (-overlay), so
// the product itself contains nothing of the bugs. [Load] reads the patches, and [Overlay] applies
// them. [Combine] makes sources with many bugs, of which each process has the one that its environment names.
package mutant

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Patch is a deliberate bug.
type Patch struct {
	Name  string   // the file's name without its extension
	File  string   // relative to the root of the module, as all paths here
	Rule  string   // the safety rule that the bug omits, and how
	Runs  []Run    // at least one catches the bug
	Files []string // the sources that the patch changes or adds
}

// Run is a run of ordinary tests that shows what the bug does.
type Run struct {
	Caught  bool     // whether a test fails, or all pass in spite of the bug
	With    string   // the name of another patch that is applied as well; usually empty
	Package string   // argument of the go command, or the folder of File
	File    string   // source of the test, if it is one of a client in another language
	Test    string   // a test, or one of its subtests
	Flags   []string // flags of the test binary
}

var (
	runLine    = regexp.MustCompile(`^(Caught|Not caught)(?: with ([a-z0-9-]+))? by: go test (\./\S+) -run (Test\S+)((?: -\S+)*)$`)
	clientLine = regexp.MustCompile(`^(Caught|Not caught) by: (clients/\S+\.(?:py|ts|java)) (\S.*)$`)
	fileLine   = regexp.MustCompile(`(?m)^(?:\+\+\+ b|--- a)/(\S+)$`)
	testFile   = regexp.MustCompile(`_test\.go$|^clients/.*/tests?/`)
)

// Load reads all patches of the module at a root, in the order of their names.
func Load(root string) (patches []Patch, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".patch" || !strings.HasSuffix(filepath.Dir(path), "testdata/mutants"):
			return nil
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		p, err := parse(path, string(raw))
		patches = append(patches, p)
		return err
	})
	slices.SortFunc(patches, func(a, b Patch) int { return strings.Compare(a.Name, b.Name) })
	return patches, err
}

// parse reads a patch: the rule, an empty line, the runs, and the diff.
func parse(path, text string) (Patch, error) {
	p := Patch{Name: strings.TrimSuffix(filepath.Base(path), ".patch"), File: path}
	head, diff, ok := strings.Cut(text, "\ndiff --git ")
	if !ok {
		return p, fmt.Errorf("%s: no diff as git writes it", path)
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if m := runLine.FindStringSubmatch(line); m != nil {
			p.Runs = append(p.Runs, Run{Caught: m[1] == "Caught", With: m[2], Package: m[3], Test: m[4], Flags: strings.Fields(m[5])})
		} else if m := clientLine.FindStringSubmatch(line); m != nil {
			p.Runs = append(p.Runs, Run{Caught: m[1] == "Caught", Package: "./" + filepath.Dir(m[2]), File: m[2], Test: m[3]})
		} else if strings.HasPrefix(line, "Caught") || strings.HasPrefix(line, "Not caught") {
			return p, fmt.Errorf("%s: %q: expected %s or %s", path, line, runLine, clientLine)
		} else {
			p.Rule = strings.TrimSpace(p.Rule + " " + line)
		}
	}
	if p.Rule == "" || !slices.ContainsFunc(p.Runs, func(r Run) bool { return r.Caught }) {
		return p, fmt.Errorf("%s: expected the rule and a line %q", path, "Caught by: go test ./PACKAGE -run TestNAME")
	}
	p.Files = sources(diff)
	for _, file := range p.Files {
		if testFile.MatchString(file) {
			return p, fmt.Errorf("%s: changes %s, expected no test", path, file)
		}
	}
	return p, nil
}

// sources lists the files that a diff changes or adds.
func sources(diff string) (files []string) {
	for _, m := range fileLine.FindAllStringSubmatch(diff, -1) {
		files = append(files, m[1])
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Read reads a patch of the module at a root that is not a bug: only File and Files are set.
func Read(root, path string) (Patch, error) {
	raw, err := os.ReadFile(filepath.Join(root, path))
	return Patch{File: path, Files: sources(string(raw))}, err
}

// Named returns the patches of these names, in their order.
func Named(patches []Patch, names ...string) (chosen []Patch, err error) {
	for _, name := range names {
		i := slices.IndexFunc(patches, func(p Patch) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no planted bug %q", name)
		}
		chosen = append(chosen, patches[i])
	}
	return chosen, nil
}
