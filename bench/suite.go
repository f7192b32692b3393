package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is a table of the results of Go benchmarks and tests of the repository.
type suite struct {
	runs    []goTest
	columns []string
	rows    []suiteRow
}

// suiteRow is a row of labels, followed by readings.
type suiteRow struct {
	labels []string
	cells  []cell
}

// cell is one reading. "Lane/lanes=1 M-ids/s" is a reading of the benchmark BenchmarkLane/lanes=1; a name in
// goTest.logs is a reading of a test's log.
type cell struct {
	reading string
	format  format
}

// goTest is one run of go test.
type goTest struct {
	pkg string
	// bench is the value of go test -bench; empty for a test.
	bench string
	// benchtime, if set, replaces the duration of a turn. If once is set, the benchmark runs once and not in rounds.
	benchtime string
	once      bool
	// run is the value of go test -run, for a test whose log has readings. The first group of each expression in logs
	// is the reading. If there are several matches, the largest reading counts.
	run string
	// flags is the flags of the test itself.
	flags []string
	logs  map[string]*regexp.Regexp
}

// reading is the values reported under a name.
type reading struct {
	values  []float64
	largest bool
}

// longestBenchtime is Go's default. Operations that take nanoseconds need no longer turns.
const longestBenchtime = time.Second

// measure runs go test and returns a table of the results.
func (s suite) measure(ctx context.Context, e *env) (*table, error) {
	readings := map[string]*reading{}
	var commands []string
	for _, r := range s.runs {
		args := r.args(e)
		commands = append(commands, "`go "+strings.Join(quoted(args), " ")+"`")
		cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are constants of this program
		cmd.Dir = e.root
		out, err := cmd.Output()
		if err != nil {
			text := out
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				text = append(text, exit.Stderr...)
			}
			return nil, fmt.Errorf("%s: %w: %s", commands[len(commands)-1], err, bytes.TrimSpace(text))
		}
		r.read(out, readings)
	}
	t := &table{columns: s.columns, how: "Medians of the results of " + strings.Join(commands, ", ")}
	if slices.ContainsFunc(s.runs, func(r goTest) bool { return len(r.logs) > 0 }) {
		t.how += ". If a test reports a figure several times, the largest value counts"
	}
	for _, row := range s.rows {
		cells := append([]string(nil), row.labels...)
		for _, c := range row.cells {
			value, ok := readings[c.reading]
			if !ok {
				return nil, fmt.Errorf("nothing reports %q", c.reading)
			}
			cells = append(cells, c.format(value.value()))
		}
		t.rows = append(t.rows, cells)
	}
	return t, nil
}

func (r *reading) value() float64 {
	if !r.largest {
		return median(r.values)
	}
	largest := r.values[0]
	for _, v := range r.values {
		largest = max(largest, v)
	}
	return largest
}

// args returns the arguments of the go command.
func (r goTest) args(e *env) []string {
	if r.bench == "" {
		return append([]string{"test", "./" + r.pkg, "-count", "1", "-v", "-run", r.run}, r.flags...)
	}
	benchtime, count := r.benchtime, strconv.Itoa(e.rounds)
	if benchtime == "" {
		benchtime = min(e.duration, longestBenchtime).String()
	}
	if r.once {
		count = "1"
	}
	return []string{"test", "./" + r.pkg, "-run", "^$", "-timeout", "30m", "-benchtime", benchtime, "-count", count, "-bench", r.bench}
}

// quoted joins arguments for a shell, with quotes where necessary.
func quoted(args []string) []string {
	var all []string
	for _, arg := range args {
		if strings.ContainsAny(arg, "^$|*()") {
			arg = "'" + arg + "'"
		}
		all = append(all, arg)
	}
	return all
}

// read finds the readings in the output of go test.
func (r goTest) read(out []byte, into map[string]*reading) {
	add := func(name, text string, largest bool) {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return
		}
		if into[name] == nil {
			into[name] = &reading{largest: largest}
		}
		into[name].values = append(into[name].values, value)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		for name, expression := range r.logs {
			if found := expression.FindStringSubmatch(lines.Text()); found != nil {
				add(name, found[1], true)
			}
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 { // fields: name, iterations, then pairs of value and unit
			add(name+" "+fields[i+1], fields[i], false)
		}
	}
}

// processors is the suffix that go test adds to the name of a benchmark, unless there is only one processor.
var processors = regexp.MustCompile(`-[0-9]+$`)
