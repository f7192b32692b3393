package mutant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Combine writes sources with many bugs to an empty directory. It returns the file there that the go command takes as
// -overlay, and the names of the bugs. A process built so has those bugs that its environment names, see [Choice]. The
// other patches fit no such build: a bug that is no change of functions alone needs a build of its own.
func Combine(ctx context.Context, root, dir string, patches ...Patch) (overlay string, names []string, err error) {
	originals := make(map[string]string)
	var bugs []bug
	for _, p := range patches {
		patched := filepath.Join(dir, p.Name)
		if _, err := Overlay(ctx, root, patched, p); err != nil {
			return "", nil, err
		}
		b := bug{name: p.Name, files: make(map[string]string)}
		for _, file := range p.Files {
			var failed error
			originals[file], err = read(filepath.Join(root, file))
			b.files[file], failed = read(filepath.Join(patched, file))
			if err := cmp.Or(err, failed); err != nil {
				return "", nil, err
			}
		}
		bugs = append(bugs, b)
	}
	sources, names := combine(originals, bugs)
	if root, err = filepath.Abs(root); err != nil {
		return "", nil, err
	}
	replace := make(map[string]string)
	for file, text := range sources {
		to := filepath.Join(dir, "combined", file)
		replace[filepath.Join(root, file)] = to
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", nil, err
		}
	}
	overlay, err = writeOverlay(dir, replace)
	return overlay, names, err
}

// read returns the text of a file, "" if there is none.
func read(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(raw), err
}

// bug is the sources with a bug: the texts of the files that its patch changes, "" if it removes the file.
type bug struct {
	name  string
	files map[string]string
}

// combine puts bugs into the original sources. It returns the files that differ, and the names of the bugs that fit.
func combine(originals map[string]string, bugs []bug) (combined map[string]string, names []string) {
	sources := make(map[string]*source)
	for file, text := range originals {
		sources[file] = newSource(text)
	}
	for _, b := range bugs {
		changes := make(map[string]*change)
		fits := true
		for file, text := range b.files {
			changes[file] = sources[file].compare(newSource(text), b.name, len(names))
			fits = fits && changes[file] != nil
		}
		if !fits {
			continue
		}
		for file, c := range changes {
			sources[file].add(c)
		}
		names = append(names, b.name)
	}
	combined = map[string]string{chooserFile: chooser(names)}
	for file, s := range sources {
		if s.added.whole != "" || len(s.added.calls) > 0 {
			combined[file] = s.combined()
		}
	}
	return combined, names
}

const (
	// Choice is the environment variable that names the bugs of a process, separated by commas.
	Choice = "SNOWRAFT_PLANTED"
	// Trace is the environment variable that names a directory. The process makes an empty file there for each of its
	// bugs whose code runs, with the bug's name.
	Trace = "SNOWRAFT_PLANTED_TRACE"

	chooserFile   = "internal/build/mutant/planted/planted.go"
	chooserImport = `import planted_ "github.com/snowraft/snowraft/internal/build/mutant/planted"`
)

// chooser is a package that knows which of the bugs a process has.
func chooser(names []string) string {
	return fmt.Sprintf(`package planted

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

var names = %#v

var On [%d]bool

var ran [len(On)]atomic.Bool

func init() {
	for _, name := range strings.Split(os.Getenv(%q), ",") {
		if i := slices.Index(names, name); i >= 0 {
			On[i] = true
		}
	}
}

func Ran(i int) bool {
	if !ran[i].Load() && !ran[i].Swap(true) {
		_ = os.WriteFile(filepath.Join(os.Getenv(%q), names[i]), nil, 0o600)
	}
	return true
}
`, names, len(names), Choice, Trace)
}
