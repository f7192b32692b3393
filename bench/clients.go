package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// toolTurn is the greatest duration of a turn of a benchmark tool, which also starts a process and warms it up.
const toolTurn = time.Second

// bytesEach is the name of a figure: the bytes of memory that each operation allocates.
const bytesEach = "bytes each"

// tool is the benchmark tool of another language. Each of its processes measures one way to make IDs, so that compilers optimize this
// way alone.
type tool struct {
	dir   string // name in bench/clients; the working directory of the tool
	built string // file that "make bench-clients" makes, relative to dir
	// command returns the command line that measures for the duration d the way of a name, with a member at an address. The
	// tool writes its results to a file, unless read takes them from its output.
	command func(name, address, file string, d time.Duration) []string
	read    func(output, file []byte) (figures, error)
}

// measure runs the contenders, whose names begin with the names that the tool knows, and returns the table.
func (t tool) measure(ctx context.Context, e *env, c comparison) (result *table, err error) {
	if err := e.built("bench", "clients", t.dir, t.built); err != nil {
		return nil, err
	}
	var started closers
	defer started.close(&err)
	m, err := e.startWide(ctx, &started)
	if err != nil {
		return nil, err
	}
	for i := range c.contenders {
		name, _, _ := strings.Cut(strings.TrimPrefix(c.contenders[i].name, "`"), "`")
		c.contenders[i].turn = t.turn(e, name, m.http)
	}
	short := *e
	short.duration = min(e.duration, toolTurn)
	if result, err = c.measure(ctx, &short); err == nil {
		command := strings.Join(t.command("NAME", "ADDRESS", "FILE", short.duration), " ")
		result.how = fmt.Sprintf("%s, by `%s` in `bench/clients/%s`", e.turns(short.duration), command, t.dir)
	}
	return result, err
}

// built returns an error if a file of "make bench-clients" is missing.
func (e *env) built(path ...string) error {
	if _, err := os.Stat(filepath.Join(append([]string{e.root}, path...)...)); err != nil {
		return fmt.Errorf("%w: not built; run \"make bench-clients\" first", err)
	}
	return nil
}

// turn returns a turn of the tool.
func (t tool) turn(e *env, name, address string) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		dir, err := e.temp(t.dir)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "results")
		argv := t.command(name, address, path, d)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the arguments are constants of this program
		cmd.Dir = filepath.Join(e.root, "bench", "clients", t.dir)
		out, err := output(cmd)
		if err != nil {
			return nil, err
		}
		file, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		f, err := t.read(out, file)
		if err != nil {
			return nil, fmt.Errorf("%w in the results %.500q", err, append(out, file...))
		}
		f[numbers] = 1e9 / f[each]
		return f, nil
	}
}

// jmh measures with JMH, in one fork.
var jmh = tool{
	dir: "java", built: "target/bench.jar",
	command: func(name, address, file string, d time.Duration) []string {
		return []string{
			"java", "-jar", "target/bench.jar", `\.` + name + "$", "-p", "address=" + address, "-prof", "gc", "-f", "1",
			"-wi", "1", "-w", millis(d / 2), "-i", "1", "-r", millis(d), "-foe", "true", "-rf", "json", "-rff", file,
		}
	},
	read: func(_, file []byte) (figures, error) {
		type metric struct {
			Score float64 `json:"score"`
		}
		var results []struct {
			Primary   metric            `json:"primaryMetric"`
			Secondary map[string]metric `json:"secondaryMetrics"`
		}
		if err := json.Unmarshal(file, &results); err != nil || len(results) != 1 {
			return nil, fmt.Errorf("%d benchmarks (%w)", len(results), err)
		}
		allocated, ok := results[0].Secondary["gc.alloc.rate.norm"]
		if !ok || results[0].Primary.Score <= 0 {
			return nil, fmt.Errorf("no time or no allocation")
		}
		return figures{each: results[0].Primary.Score, bytesEach: allocated.Score}, nil
	},
}

// tinybench measures with tinybench.
var tinybench = tool{
	dir: "typescript", built: "node_modules",
	command: func(name, address, _ string, d time.Duration) []string {
		return []string{"node", "bench.mjs", name, address, fmt.Sprint(d.Milliseconds())}
	},
	read: func(out, _ []byte) (figures, error) {
		var result struct {
			NS float64 `json:"ns"`
		}
		if err := json.Unmarshal(out, &result); err != nil || result.NS <= 0 {
			return nil, fmt.Errorf("no time (%w)", err)
		}
		return figures{each: result.NS}, nil
	},
}

// pythonOfBench is the Python with the client and with what measures, relative to a directory in bench/clients.
const pythonOfBench = "../../../bin/bench-python/bin/python"

// pyperfValues is the number of values of pyperf in a turn.
const pyperfValues = 5

// pyperf measures with pyperf, in one process besides the one that calibrates.
var pyperf = tool{
	dir: "python", built: pythonOfBench,
	command: func(name, address, file string, d time.Duration) []string {
		return []string{
			pythonOfBench, "bench.py", name, "--address", address, "--quiet", "--processes", "1", "--warmups", "1",
			"--values", fmt.Sprint(pyperfValues), "--min-time", fmt.Sprint((d / pyperfValues).Seconds()), "--output", file,
		}
	},
	read: func(_, file []byte) (figures, error) {
		var results struct {
			Benchmarks []struct {
				Runs []struct {
					Values []float64 `json:"values"` // seconds of an ID
				} `json:"runs"`
			} `json:"benchmarks"`
		}
		if err := json.Unmarshal(file, &results); err != nil {
			return nil, err
		}
		var values []float64
		for _, b := range results.Benchmarks {
			for _, r := range b.Runs {
				values = append(values, r.Values...)
			}
		}
		if len(values) != pyperfValues {
			return nil, fmt.Errorf("%d values", len(values))
		}
		return figures{each: median(values) * 1e9}, nil
	},
}

func millis(d time.Duration) string { return fmt.Sprintf("%dms", max(1, d.Milliseconds())) }
