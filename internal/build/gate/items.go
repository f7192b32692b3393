package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// scattered are packages whose tests with the race detector take minutes. Each of their tests is in a slice of its own.
var scattered = []string{"./cmd/snowraft", "./fsm", "./internal/test/simtest", "./server"}

// raceOfSlice lists the races of the gate: the raced packages, one simulation, and the slice of all other tests. Of the raced
// packages, the slice repeats as much as without the race detector.
func raceOfSlice(w *work) ([]command, error) {
	race := func(args ...string) command {
		c := tests(append([]string{"go", "test", "-json", "-race", "-timeout=30m"}, args...)...)
		c.env = []string{"CGO_ENABLED=1", "GOGC=400"}
		return c
	}
	packages, err := testedPackages(w.root)
	if err != nil {
		return nil, err
	}
	var all, repeated []string
	commands := []command{}
	for _, p := range packages {
		switch {
		case slices.Contains(raced, p.path) && w.inSlice("race "+p.path):
			repeated = append(repeated, p.path)
		case slices.Contains(raced, p.path):
			all = append(all, p.path)
		case !slices.Contains(scattered, p.path):
			if w.inSlice("race " + p.path) {
				all = append(all, p.path)
			}
		default:
			chosen := p.inSlice(w, "race")
			if p.path == "./internal/test/simtest" && !slices.Contains(chosen, simulation) {
				chosen = append(chosen, simulation)
			}
			if len(chosen) > 0 {
				commands = append(commands, race(only(chosen), p.path))
			}
		}
	}
	if len(repeated) > 0 {
		commands = append([]command{ordinary(race(repeated...))}, commands...)
	}
	return append([]command{race(all...)}, commands...), nil
}

// simulation is the simulated cluster of every race: all kinds of faults, and clients of IDs and of sequences.
const simulation = "TestHavoc"

// depthOfSlice lists the searches and simulations of the slice, at their whole depth. Other tests of their packages run too.
func depthOfSlice(w *work) (commands []command, err error) {
	packages, err := testedPackages(w.root)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		if chosen := p.inSlice(w, "depth"); p.deep && len(chosen) > 0 {
			commands = append(commands, whole(tests("go", "test", "-json", only(chosen), p.path)))
		}
	}
	return commands, nil
}

// ordinary gives tests with the race detector the depth that they have without it.
func ordinary(c command) command {
	c.env = append(c.env, "SNOWRAFT_DEPTH=ordinary")
	return c
}

// whole gives tests their whole depth.
func whole(c command) command {
	c.env = append(c.env, "SNOWRAFT_DEPTH=whole")
	return c
}

// night gives walks the depth of a night.
func night(c command) command {
	c.env = append(c.env, "SNOWRAFT_DEPTH=night")
	return c
}

// testedPackage is a package with its tests that need no build tag.
type testedPackage struct {
	path  string // "./fsm"
	tests []string
	deep  bool // has tests with a depth
}

// inSlice returns the tests of a kind of check that the slice has.
func (p testedPackage) inSlice(w *work, kind string) []string {
	return slices.DeleteFunc(slices.Clone(p.tests), func(test string) bool { return !w.inSlice(kind + " " + p.path + " " + test) })
}

// only is the flag of "go test" that runs these tests and no others.
func only(tests []string) string { return "-run=^(" + strings.Join(tests, "|") + ")$" }

var testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z0-9_]\w*)\(t \*testing\.T\)`)

func testedPackages(root string) (packages []testedPackage, err error) {
	text, err := output(context.Background(), root, "go", "list", "-json=Dir,TestGoFiles,XTestGoFiles,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct {
			Dir                                                  string
			TestGoFiles, XTestGoFiles, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		t := testedPackage{
			path: "./" + filepath.ToSlash(rel),
			deep: slices.Contains(slices.Concat(p.TestImports, p.XTestImports), "github.com/snowraft/snowraft/internal/test/depth"),
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			raw, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, m := range testFunc.FindAllSubmatch(raw, -1) {
				t.tests = append(t.tests, string(m[1]))
			}
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			packages = append(packages, t)
		}
	}
}

// wholeConformance adds the scenario leaks, which takes 10 minutes, to the suite of the clients.
const wholeConformance = "CONFORMANCEFLAGS=--leaks 10m"

// clientsOfSlice lists the checks of the clients: the whole suite in the slice of the part, otherwise one of two minutes.
func clientsOfSlice(w *work) ([]command, error) {
	if w.slice == clientsSlice {
		return []command{makes("conformance", wholeConformance)}, nil
	}
	return []command{makes("conformance", "CONFORMANCEFLAGS=--quick --count 400000 --processes 1")}, nil
}

// scenariosOfSlice lists the scenarios of chaos in the slice.
func scenariosOfSlice(w *work) ([]command, error) {
	list, err := output(context.Background(), w.root, "go", "run", "./jepsen", "scenario", "list")
	if err != nil {
		return nil, err
	}
	chosen := []string{}
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; !strings.HasPrefix(line, " ") && w.inSlice("scenario "+name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	return []command{program(append([]string{"go", "run", "./jepsen", "scenario", "--lapse", "5s"}, chosen...)...)}, nil
}
