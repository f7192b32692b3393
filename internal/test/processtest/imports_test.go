//go:build process

package processtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// archive is the layout of the page about imports.
var archive = snowflake.MustNew(snowflake.Spec{
	Name: "archive", UnitMillis: 1, EpochMillis: 1_420_070_400_000, Past: true, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldWorker, Bits: 10}, {Field: snowflake.FieldSequence, Bits: 12},
	},
})

// importing returns a member with the layout.
func importing(t *testing.T) *member {
	t.Helper()
	m := startCluster(t, 1)[0]
	mustSucceed(t, m, "layout", "create", "archive", "--past", "--epoch", "2015-01-01T00:00:00Z", "--fields", "time:41,worker:10,sequence:12")
	return m
}

// rowTime returns the time of a row, in Unix milliseconds: three rows share each of them.
func rowTime(row int) int64 { return 1_500_000_000_000 + int64(row/3)*1000 }

// timesOf returns the times of rows as lines.
func timesOf(from, until int) string {
	var b strings.Builder
	for row := from; row < until; row++ {
		fmt.Fprintln(&b, rowTime(row))
	}
	return b.String()
}

// imported keeps the IDs of all rows.
type imported struct {
	t    *testing.T
	seen map[uint64]bool
	rows int
}

// add takes the whole lines of an output: the IDs of the next rows. It returns their worker.
func (i *imported) add(output string) (worker uint64) {
	i.t.Helper()
	for _, line := range strings.SplitAfter(output, "\n") {
		if !strings.HasSuffix(line, "\n") {
			return worker
		}
		id, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
		if err != nil || i.seen[id] {
			i.t.Fatalf("row %d: the ID %q is malformed, or was issued before", i.rows, line)
		}
		parts, _ := archive.Unpack(id)
		if at := archive.MillisAt(parts.Tick); at != rowTime(i.rows) {
			i.t.Fatalf("row %d: the ID has the time %d, want %d", i.rows, at, rowTime(i.rows))
		}
		worker = parts.Worker
		i.seen[id], i.rows = true, i.rows+1
	}
	return worker
}

// TestImportGoesOnAfterAKill kills the command in the middle of its stream. The whole lines that it printed are the IDs of the first rows,
// and the next run issues other IDs for the rest.
func TestImportGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	m, all := importing(t), &imported{t: t, seen: map[uint64]bool{}}
	const rows = 45_000
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	first := startBy(t, func(cmd *exec.Cmd) error { cmd.Stdin = read; return cmd.Start() }, program, at(m), "backfill", "run", "archive")
	if _, err := io.WriteString(write, timesOf(0, 25_000)); err != nil {
		t.Fatal(err)
	}
	until(t, "two batches are printed", func() bool { return strings.Count(first.stdout.String(), "\n") >= 20_000 })
	first.kill()
	all.add(first.stdout.String())
	if all.rows != 20_000 {
		t.Errorf("%d rows have IDs, want those of two batches", all.rows)
	}
	file := filepath.Join(t.TempDir(), "times.txt")
	if err := os.WriteFile(file, []byte(timesOf(all.rows, rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	if worker := all.add(mustSucceed(t, m, "backfill", "run", "archive", "--times", file)); worker != 1 || all.rows != rows {
		t.Errorf("%d rows have IDs, the last by job %d; want %d by job 1", all.rows, worker, rows)
	}
	if ids := mustSucceed(t, m, "id", "--layout", "archive"); all.seen[mustParse(t, ids)] {
		t.Errorf("a member issued %s, which a job issued", ids)
	}
}

func mustParse(t *testing.T, line string) uint64 {
	t.Helper()
	id, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestImportRefuses runs the command with bad input. The IDs of the rows before the bad batch are printed.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	m := importing(t)
	for what, c := range map[string]struct {
		input string
		rows  int
		want  string
	}{
		"out of order":         {"2020-01-02T00:00:00Z\n2020-01-01T00:00:00Z\n", 0, "sort the rows by time"},
		"before the epoch":     {"2014-12-31T23:59:59.999Z\n", 0, "before the epoch"},
		"seconds":              {"1577836800\n", 0, "before the epoch"},
		"after the creation":   {"2020-01-01T00:00:00Z\n2100-01-01T00:00:00Z\n", 0, "not in the past"},
		"in a later batch":     {timesOf(0, 10_000) + "1500000000000\n", 10_000, "before the position of backfill job"},
		"no time":              {"2020-01-01T00:00:00Z\n\nyesterday\n", 1, "-:3: \"yesterday\": expected Unix milliseconds"},
		"a line without end":   {"2020-01-01T00:00:00Z\n" + strings.Repeat("1", 1<<20), 0, "-:2: bufio.Scanner: token too long"},
		"Windows' line ends":   {"2020-01-01T00:00:00Z\r\n1577836800001\r\n", 2, ""},
		"no rows":              {"\n", 0, ""},
		"no end of line at it": {"1577836800001", 1, ""},
	} {
		p := startBy(t, func(cmd *exec.Cmd) error { cmd.Stdin = strings.NewReader(c.input); return cmd.Start() }, program, at(m), "backfill", "run", "archive")
		code := p.exit()
		if got := p.stderr.String(); (code == 0) != (c.want == "") || !strings.Contains(got, c.want) || strings.Count(p.stdout.String(), "\n") != c.rows {
			t.Errorf("%s: exit code %d, %d rows, prints %s", what, code, strings.Count(p.stdout.String(), "\n"), got)
		}
	}
}

// TestImportAfterRestore plays the end of the section about imports in docs/sequences-howto.md: rows that are imported after a
// restore get other IDs than those that the lost cluster issued after the backup.
func TestImportAfterRestore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/sequences-howto.md")
	if err != nil {
		t.Fatal(err)
	}
	resume := regexp.MustCompile(`(?m)^snowraft (backfill resume archive --after) 7$`).FindStringSubmatch(string(page))
	if resume == nil {
		t.Fatal("the page lacks the command that resumes backfills")
	}
	m, all, dir := importing(t), &imported{t: t, seen: map[uint64]bool{}}, t.TempDir()
	part := func(from, until int) string {
		file := filepath.Join(dir, fmt.Sprint(from))
		if err := os.WriteFile(file, []byte(timesOf(from, until)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	all.add(mustSucceed(t, m, "backfill", "run", "archive", "--times", part(0, 100)))
	file := filepath.Join(dir, "import.backup")
	mustSucceed(t, m, "backup", file)
	last := all.add(mustSucceed(t, m, "backfill", "run", "archive", "--times", part(100, 200)))
	m.kill()
	m.dir = filepath.Join(dir, "restored")
	mustRun(t, "restore", file, "--data-dir", m.dir, "--old-ended", time.Now().UTC().Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked")
	m.start()
	rest := part(200, 300)
	until(t, "the restored member refuses the import", func() bool {
		_, stderr, _ := command(t, at(m), "backfill", "run", "archive", "--times", rest)
		return strings.Contains(stderr, "PAST_CLOSED")
	})
	if _, stderr, _ := command(t, at(m), "backfill", "run", "archive", "--job", "0", "--times", rest); !strings.Contains(stderr, "BACKFILL_ENDED") {
		t.Errorf("a job of the old cluster: %s", stderr)
	}
	mustSucceed(t, m, append(strings.Fields(resume[1]), strconv.FormatUint(last, 10))...)
	if job := all.add(mustSucceed(t, m, "backfill", "run", "archive", "--times", rest)); job <= last || all.rows != 300 {
		t.Errorf("%d rows have IDs, the last by job %d after job %d", all.rows, job, last)
	}
}
