//go:build mutants

package mutant

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// client is a client in another language. Its tests run in a copy of its folder, where a bug is planted or none. The
// scripts run there. $ROOT is the root of this repository, and $SHARED a folder of all copies.
type client struct {
	dir     string
	install string // runs once, in $SHARED
	build   string // "$@": sources that the bug changes
	test    string // "$@": selects tests
	selects func(file, test string) []string
	passed  *regexp.Regexp // a test that passed, in the output
	failed  *regexp.Regexp
	crash   *regexp.Regexp // a failure that shows a patch that makes no sense

	planted   []Patch
	shared    string
	installed sync.Once
}

func newClients(t *testing.T) []*client {
	t.Helper()
	clients := []*client{
		{
			dir:     "clients/python",
			install: `make --no-print-directory -C "$ROOT" bin/python/ready`,
			test:    `"$ROOT/bin/python/bin/python" -m pytest -q -rA -p no:cacheprovider "$@"`,
			selects: func(file, test string) []string { return []string{file + "::" + test} },
			passed:  regexp.MustCompile(`(?m)^PASSED (.+)$`),
			failed:  regexp.MustCompile(`(?m)^FAILED (.+?)(?: - .*)?$`),
			crash:   regexp.MustCompile(`(?m)^(ERROR .*|E +(NameError|AttributeError|TypeError|ImportError|SyntaxError)\b.*)$`),
		},
		{
			dir:     "clients/typescript",
			install: `cp "$ROOT"/clients/typescript/package*.json . && npm ci --prefer-offline --no-audit --no-fund --silent`,
			build:   `ln -s "$SHARED/node_modules" . && node_modules/.bin/tsc -p tsconfig.test.json`,
			test:    `node --enable-source-maps --test-timeout=120000 --test --test-reporter=tap "$@"`,
			selects: func(file, test string) []string {
				return []string{"--test-name-pattern=^" + regexp.QuoteMeta(test) + "$", "build/" + strings.TrimSuffix(file, ".ts") + ".js"}
			},
			passed: regexp.MustCompile(`(?m)^ *ok \d+ - ([^#/\n]+)$`),
			failed: regexp.MustCompile(`(?m)^ *not ok \d+ - (.+)$`),
			crash:  regexp.MustCompile(`(?m)^.*\b(TypeError|ReferenceError|SyntaxError|test timed out)\b.*$|^ *not ok \d+ - .*\.test\.js$`),
		},
		{
			dir: "clients/java",
			install: `mvn -q -B -N -f "$ROOT/clients/java" dependency:copy -DoutputDirectory="$SHARED" \
					-Dartifact=org.junit.platform:junit-platform-console-standalone:1.11.4
				cd "$ROOT/clients/java/client"
				javac -proc:none -d "$SHARED/classes" -cp "$SHARED/*" $(find src -name '*.java' ! -name module-info.java)`,
			build: `mkdir classes; test $# = 0 || javac -proc:none -d classes -cp "$SHARED/classes" "$@"`,
			test: `cd client
				java -cp "../classes:$SHARED/classes:src/test/resources:$SHARED/junit-platform-console-standalone-1.11.4.jar" \
					org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=tree --details-theme=ascii "$@"`,
			selects: func(file, test string) []string {
				class := strings.TrimSuffix(strings.TrimPrefix(file, "client/src/test/java/"), ".java")
				return []string{"--select-method=" + strings.ReplaceAll(class, "/", ".") + "#" + test}
			},
			passed: regexp.MustCompile(`-- (\w+)\(\)(?: \d+ ms)? \[OK\]`),
			failed: regexp.MustCompile(`-- (.+?)(?: \d+ ms)? \[X\]`),
			crash:  regexp.MustCompile(`(?m)^.*\b(NullPointerException|ClassCastException|LinkageError|NoSuch\w+Error|NoClassDefFoundError)\b.*$`),
		},
	}
	for _, c := range clients {
		c.shared = t.TempDir()
	}
	return clients
}

// inside returns a path relative to the client's folder.
func (c *client) inside(file string) string { return strings.TrimPrefix(file, c.dir+"/") }

// clientOf returns the client that a patch changes, nil for a bug of the program.
func clientOf(clients []*client, p Patch) *client {
	i := slices.IndexFunc(clients, func(c *client) bool { return strings.HasPrefix(p.File, c.dir+"/") })
	if i < 0 {
		return nil
	}
	return clients[i]
}

// execute runs tests in a copy of the client that has the bugs.
func (c *client) execute(t *testing.T, runs []Run, bugs ...Patch) (o outcome) {
	t.Helper()
	c.installed.Do(func() {
		if cmd := c.script(t.Context(), c.shared, c.install); cmd.err != nil {
			t.Fatalf("%s: %v\n%s", c.install, cmd.err, cmd.text)
		}
	})
	dir := t.TempDir()
	for _, file := range c.files(t) {
		if err := copyFile(filepath.Join(root, file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Overlay(t.Context(), root, dir, bugs...); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, c.dir)
	var sources []string
	for _, p := range bugs {
		for _, file := range p.Files {
			sources = append(sources, c.inside(file))
		}
	}
	if built := c.script(t.Context(), folder, c.build, sources...); built.err != nil {
		return outcome{broken: "it does not compile: " + built.err.Error(), text: built.text}
	}
	var args []string
	for _, r := range runs {
		args = append(args, c.selects(c.inside(r.File), r.Test)...)
	}
	slices.Sort(args) // flags first
	args = slices.Compact(args)
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
	defer cancel()
	ran := c.script(ctx, folder, c.test, args...)
	o = outcome{text: ran.text, took: ran.took, broken: c.crash.FindString(ran.text)}
	for _, m := range c.passed.FindAllStringSubmatch(ran.text, -1) {
		o.passed = append(o.passed, m[1])
	}
	for _, m := range c.failed.FindAllStringSubmatch(ran.text, -1) {
		o.failed = append(o.failed, m[1])
	}
	switch {
	case o.broken != "":
	case ctx.Err() != nil:
		o.broken = ctx.Err().Error()
	case ran.err != nil && len(o.failed) == 0:
		o.broken = ran.err.Error()
	case len(o.passed)+len(o.failed) < len(runs):
		o.broken = fmt.Sprintf("%d tests ran, expected %d", len(o.passed)+len(o.failed), len(runs))
	}
	return o
}

// clientLimit bounds one run. The longest takes some seconds, and many times as long on a busy machine.
const clientLimit = 10 * time.Minute

// files lists the sources of the client, and the vectors that its tests read.
func (c *client) files(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", c.dir, "proto/vectors")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// ran is the result of a script.
type ran struct {
	text string
	took time.Duration // processor time
	err  error
}

func (c *client) script(ctx context.Context, dir, text string, args ...string) ran {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return ran{err: err}
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-euc", text, "sh"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ROOT="+absolute, "SHARED="+c.shared)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	return ran{string(out), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err}
}

// withoutBugs runs the tests of all planted bugs in a copy without one, where they pass.
func (c *client) withoutBugs(t *testing.T) {
	t.Parallel()
	var runs []Run
	for _, p := range c.planted {
		for _, r := range p.Runs {
			if !slices.ContainsFunc(runs, func(o Run) bool { return o.File == r.File && o.Test == r.Test }) {
				runs = append(runs, r)
			}
		}
	}
	o := c.execute(t, runs)
	if fault := o.fault(false); fault != "" {
		t.Errorf("%s\n%s", fault, o.text)
	} else {
		t.Logf("%d tests, %v of a processor", len(o.passed), o.took.Round(100*time.Millisecond))
	}
}
