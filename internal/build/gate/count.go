package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// counter counts the tests in the output of commands. Of the events that "go test -json" prints, it shows the results of
// packages and the output of failed tests; it shows all other lines as they are.
type counter struct {
	out    io.Writer
	passed int      // tests, subtests, and lines "ok NAME" of other tools
	none   bool     // the command said that the slice has none of its checks
	failed []string // reasons of failed tests and runs
	last   []string // the last lines, without events
	within bool     // the lines that follow explain a failed run
	rest   []byte
	held   map[[2]string][]string // output of tests without a result yet, by package and test
}

func newCounter(out io.Writer) *counter {
	return &counter{out: out, held: make(map[[2]string][]string)}
}

// event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // s
}

var (
	selectedNone = regexp.MustCompile(`\b0 of [0-9]+ .*selected`)
	okLine       = regexp.MustCompile(`^ok\s+\S`)
	failedRun    = regexp.MustCompile(`^\S+ +(FAIL|INVALID)\s`)
	reasonLine   = regexp.MustCompile(`^\s*\w+\.go:[0-9]+: .*[^:]\n|^panic: |^fatal error: |^WARNING: DATA RACE`)
)

const (
	maxReasons = 3   // lines that explain one failed test
	maxRuns    = 12  // lines that explain failed runs
	maxReason  = 300 // bytes
	maxLast    = 6   // lines that stand for reasons if no reason is known
)

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		i := bytes.IndexByte(c.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		c.line(c.rest[:i+1])
		c.rest = c.rest[i+1:]
	}
}

func (c *counter) line(line []byte) {
	var e event
	if line[0] != '{' || json.Unmarshal(line, &e) != nil || e.Action == "" {
		c.plain(string(line))
		return
	}
	key := [2]string{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(c.out, e.Output)
	case e.Action == "output":
		c.none = c.none || selectedNone.MatchString(e.Output)
		c.held[key] = append(c.held[key], e.Output)
	case e.Action == "pass" && e.Test != "":
		c.passed++
		delete(c.held, key)
	case e.Action == "skip" && e.Test != "":
		delete(c.held, key)
	case e.Action == "fail" && e.Test != "":
		c.show(key)
	case e.Action == "pass":
		fmt.Fprintf(c.out, "ok %s %.1f s\n", e.Package, e.Elapsed)
		delete(c.held, key)
	case e.Action == "fail":
		c.showAll(e.Package)
		fmt.Fprintf(c.out, "FAIL %s %.1f s\n", e.Package, e.Elapsed)
	}
}

func (c *counter) plain(line string) {
	c.none = c.none || selectedNone.MatchString(line)
	if okLine.MatchString(line) {
		c.passed++
	}
	c.within = failedRun.MatchString(line) || c.within && strings.HasPrefix(line, " ")
	if c.within && len(c.failed) < maxRuns {
		c.failed = append(c.failed, short(line))
	}
	if c.last = append(c.last, short(line)); len(c.last) > maxLast {
		c.last = c.last[1:]
	}
	fmt.Fprint(c.out, line)
}

// reasons returns the lines that explain why the command failed.
func (c *counter) reasons() []string {
	if len(c.failed) > 0 {
		return c.failed
	}
	return c.last
}

func short(line string) string {
	line = strings.TrimSpace(line)
	return line[:min(len(line), maxReason)]
}

// show prints the output of a failed test, or of a package outside of its tests.
func (c *counter) show(key [2]string) {
	fmt.Fprint(c.out, strings.Join(c.held[key], ""))
	reasons := 0
	for _, line := range c.held[key] {
		if reasons < maxReasons && reasonLine.MatchString(line) {
			c.failed = append(c.failed, short(fmt.Sprintf("%s %s: %s", path.Base(key[0]), key[1], strings.TrimSpace(line))))
			reasons++
		}
	}
	delete(c.held, key)
}

// showAll prints the output of a package and of its tests without a result.
func (c *counter) showAll(pkg string) {
	for key := range c.held {
		if key[0] == pkg && key[1] != "" {
			c.show(key)
		}
	}
	c.show([2]string{pkg, ""})
}

// end prints what an unfinished command left.
func (c *counter) end(failed bool) {
	if len(c.rest) > 0 {
		c.plain(string(c.rest) + "\n")
		c.rest = nil
	}
	if !failed {
		return
	}
	for key := range c.held {
		c.show(key)
	}
}
