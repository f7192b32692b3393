package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const original = `package main

import "fmt"

type box[T any] struct{ v T }

func (b *box[T]) get() T { return b.v }

type unit struct{}

func (unit) name(string, int) string { return "unit" }

func largest[T int | string](first T, more ...T) T {
	for _, m := range more {
		first = max(first, m)
	}
	return first
}

func double(n int, _ string) (twice int, err error) {
	defer func() { twice++ }()
	return 2 * n, nil
}

func count(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + count(n-1)
}

var started = count(3)

func say() { fmt.Print("said ") }

func main() {
	say()
	twice, err := double(4, "")
	name := unit.name
	fmt.Println((&box[int]{5}).get(), name(unit{}, "", 0), largest(3, 9, 7), twice, err, count(3), started)
}
`

// changed returns the original as changed by a bug.
func changed(t *testing.T, old, text string) string {
	t.Helper()
	if strings.Count(original, old) != 1 {
		t.Fatalf("%q is not once in the original", old)
	}
	return strings.Replace(original, old, text, 1)
}

// TestCombinedBugsAreChosen runs a program that has many bugs, with each of them chosen and with none.
func TestCombinedBugsAreChosen(t *testing.T) {
	t.Parallel()
	imports := func(text string) string {
		return strings.Replace(text, `import "fmt"`, "import (\n\"fmt\"\n\"os\"\n)", 1)
	}
	cases := []struct {
		bug
		want string
	}{
		{bug{}, "said 5 unit 9 9 <nil> 3 3\n"},
		{of("generic-method", changed(t, "{ return b.v }", "{ return *new(T) }")), "said 0 unit 9 9 <nil> 3 3\n"},
		{of("no-names", changed(t, `{ return "unit" }`, `{ return "none" }`)), "said 5 none 9 9 <nil> 3 3\n"},
		{of("variadic", changed(t, "max(first, m)", "min(first, m)")), "said 5 unit 3 9 <nil> 3 3\n"},
		{of("result-in-scope", changed(t, "return 2 * n, nil", "twice, more := 6, 1; _ = more; return")), "said 5 unit 9 7 <nil> 3 3\n"},
		{of("recursion", changed(t, "1 + count", "2 + count")), "said 5 unit 9 9 <nil> 6 6\n"},
		{of("no-result", changed(t, `fmt.Print("said ")`, "")), "5 unit 9 9 <nil> 3 3\n"},
		{of("import", imports(changed(t, `"said "`, `len(os.Args)`))), "15 unit 9 9 <nil> 3 3\n"},
		{of("same-import", imports(changed(t, `"said "`, `os.Args[1:]`))), "[]5 unit 9 9 <nil> 3 3\n"},
		{of("new-function", changed(t, "func say() {", "func more() { fmt.Print(`more `) }\n\nfunc say() { more();")), "more said 5 unit 9 9 <nil> 3 3\n"},
		{bug{"new-file", map[string]string{
			"main.go": changed(t, `"said "`, "said"), "said.go": "package main\n\nconst said = `file `\n",
		}}, "file 5 unit 9 9 <nil> 3 3\n"},
	}
	var bugs []bug
	for _, c := range cases {
		bugs = append(bugs, c.bug)
	}
	combined, names := combine(map[string]string{"main.go": original, "said.go": ""}, bugs)
	if len(names) != len(bugs) {
		t.Fatalf("only %v fit", names)
	}
	program := compile(t, combined)
	for _, c := range cases {
		cmd := exec.CommandContext(t.Context(), program)
		trace := t.TempDir()
		cmd.Env = append(os.Environ(), Choice+"="+c.name, Trace+"="+trace)
		out, err := cmd.CombinedOutput()
		ran := c.name
		if entries, _ := os.ReadDir(trace); len(entries) == 0 {
			ran = ""
		}
		if string(out) != c.want || err != nil || ran != c.name {
			t.Errorf("%s: %q, %v, ran: %q, want %q", c.name, out, err, ran, c.want)
		}
	}
}

func of(name, text string) bug { return bug{name, map[string]string{"main.go": text}} }

func TestCombineLeavesOut(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"another variable":    {"main.go": changed(t, "count(3)\n", "count(4)\n")},
		"another type":        {"main.go": changed(t, "struct{ v T }", "struct{ v, w T }")},
		"another signature":   {"main.go": changed(t, "count(n int)", "count(n uint)")},
		"another receiver":    {"main.go": changed(t, "(b *box[T])", "(b box[T])")},
		"an exported method":  {"main.go": original + "\nfunc (unit) String() string { return `` }\n"},
		"an initialization":   {"main.go": original + "\nfunc init() { say() }\n"},
		"a directive":         {"main.go": changed(t, "func say()", "//go:noinline\nfunc say()")},
		"a missing function":  {"main.go": changed(t, `func say() { fmt.Print("said ") }`, "")},
		"a recovery":          {"main.go": changed(t, `fmt.Print("said ")`, "_ = recover()")},
		"an ambiguous import": {"main.go": changed(t, `import "fmt"`, `import fmt "log"`)},
		"a missing file":      {"main.go": ""},
		"no Go":               {"main.go": "?"},
		"a file that works":   {"new.go": "package main\n\nvar made = count(1)\n"},
		"one of two files":    {"main.go": changed(t, "1 + count", "2 + count"), "new.go": "package main\n\nfunc init() {}\n"},
	} {
		combined, names := combine(map[string]string{"main.go": original, "new.go": ""}, []bug{{name, files}})
		if len(names) != 0 || len(combined) != 1 {
			t.Errorf("%s: %v in %v", name, names, combined)
		}
	}
	file := map[string]string{"new.go": "package main\n"}
	if _, names := combine(map[string]string{"new.go": ""}, []bug{{"first", file}, {"second", file}}); !slices.Equal(names, []string{"first"}) {
		t.Errorf("%v add the same file, want only the first", names)
	}
}

// TestCompilerBlamesBugs combines bugs that do not compile together.
func TestCompilerBlamesBugs(t *testing.T) {
	t.Parallel()
	text := original + "\nfunc more() {}\n"
	combined, _ := combine(map[string]string{"main.go": original}, []bug{
		of("first", text), of("fits", changed(t, "1 + count", "2 + count")), of("second", text),
	})
	_, out, err := build(t, combined)
	if found := blamed(out); err == nil || !slices.Equal(found, []string{"first", "second"}) {
		t.Errorf("%v are blamed: %v: %s", found, err, out)
	}
}

var blameLine = regexp.MustCompile(`([a-z0-9-]+)\.patch:\d+`)

// blamed returns the bugs that errors of the compiler name.
func blamed(out string) (names []string) {
	for _, m := range blameLine.FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func compile(t *testing.T, files map[string]string) (program string) {
	t.Helper()
	program, out, err := build(t, files)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// build builds a program in a module of its own.
func build(t *testing.T, files map[string]string) (program, out string, err error) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files {
		to := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GO111MODULE=on")
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/snowraft/snowraft\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := cmd.CombinedOutput()
	return program, string(text), err
}
