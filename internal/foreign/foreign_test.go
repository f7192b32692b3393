//go:build foreign

package foreign_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// library is a library to play.
type library struct {
	name   string
	layout *snowflake.Layout
	count  int
	// command returns the program that makes that many IDs. Without a worker, the library or the image chooses one.
	command func(t *testing.T, count int, worker ...string) *exec.Cmd
	env     []string      // variables for a copy without a worker
	ahead   time.Duration // greatest lead of an ID over the clock
}

func libraries() []library {
	return []library{
		{"mybatis", preset("mybatis"), 1_000_000, java("mybatis"), nil, 0},
		{"hutool", preset("hutool"), 1_000_000, java("hutool"), nil, 0},
		{"tsid-creator", preset("tsid"), 1_000_000, java("tsid-creator"), []string{"TSIDCREATOR_NODE=1"}, time.Second},
		{"hypersistence", preset("tsid"), 1_000_000, java("hypersistence"), []string{"TSID_NODE=1"}, time.Second},
		{"bwmarrin", preset("leaf"), 1_000_000, golang("bwmarrin"), nil, 0},
		{"sonyflake", preset("sonyflake"), 20_000, golang("sonyflake"), nil, 0},
		{"sapphire", discord(), 200_000, node, nil, 0},
		{"snowflake-id", unix(), 1_000_000, python, nil, 0},
	}
}

func preset(name string) *snowflake.Layout {
	l, _ := snowflake.Preset(name)
	return l
}

// discord is the preset with one worker of 10 bits.
func discord() *snowflake.Layout { return tenBits("time:42,worker:10,sequence:12", 1_420_070_400_000) }

func unix() *snowflake.Layout { return tenBits("time:41,worker:10,sequence:12", 0) }

func tenBits(text string, epoch int64) *snowflake.Layout {
	fields, _ := snowflake.ParseFields(text)
	return snowflake.MustNew(snowflake.Spec{Name: "library", Fields: fields, UnitMillis: 1, EpochMillis: epoch})
}

// prepared holds the copies of the folders of testdata whose programs are ready.
var prepared = map[string]string{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range prepared {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// in returns a copy of a folder of testdata in which a command prepared the program. The command runs once per folder.
func in(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	if dir, ok := prepared[folder]; ok {
		return dir
	}
	dir, err := os.MkdirTemp("", "foreign")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(filepath.Join("testdata", folder)))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	prepared[folder] = dir
	return dir
}

func java(name string) func(*testing.T, int, ...string) *exec.Cmd {
	return func(t *testing.T, count int, worker ...string) *exec.Cmd {
		dir := in(t, "java", "sh", "-c", "mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && javac -cp 'lib/*' Play.java")
		args := []string{"-XX:-UsePerfData", "-cp", "lib/*:.", // no files in /tmp that are named by PID
			"Play", name, strconv.Itoa(count)}
		if len(worker) > 0 {
			n, _ := strconv.Atoi(worker[0])
			args = append(args, strconv.Itoa(n>>5), strconv.Itoa(n&31))
		}
		cmd := exec.Command("java", args...)
		cmd.Dir = dir
		return cmd
	}
}

func golang(name string) func(*testing.T, int, ...string) *exec.Cmd {
	return func(t *testing.T, count int, worker ...string) *exec.Cmd {
		dir := in(t, "go", "go", "build", "-o", "play", ".")
		return exec.Command(filepath.Join(dir, "play"), append([]string{name, strconv.Itoa(count)}, worker...)...)
	}
}

func node(t *testing.T, count int, worker ...string) *exec.Cmd {
	dir := in(t, "js", "npm", "install", "--silent", "--no-audit", "--no-fund")
	return exec.Command("node", append([]string{filepath.Join(dir, "play.js"), strconv.Itoa(count)}, worker...)...)
}

func python(t *testing.T, count int, worker ...string) *exec.Cmd {
	dir := in(t, "python", "python3", "-m", "pip", "install", "-q", "--no-deps", "--target", ".", "snowflake-id==1.0.2")
	return exec.Command("python3", append([]string{filepath.Join(dir, "play.py"), strconv.Itoa(count)}, worker...)...)
}

// play runs copies of a command at the same time, each as the first process of a PID namespace, as in containers of one host.
// It returns their IDs and the time at which the first was read.
func play(t *testing.T, count int, copies ...*exec.Cmd) (ids [][]uint64, ended time.Time) {
	t.Helper()
	var starts []io.WriteCloser
	var outs []*bufio.Scanner
	for _, c := range copies {
		c.SysProcAttr, c.Stderr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, os.Stderr
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewScanner(stdout)
		if !out.Scan() || out.Text() != "ready" {
			t.Fatalf("%v: not ready: %q", c.Args, out.Text())
		}
		starts, outs = append(starts, stdin), append(outs, out)
	}
	for _, s := range starts {
		if _, err := s.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	for i, out := range outs {
		made := make([]uint64, 0, count)
		for out.Scan() {
			if len(made) == 0 && i == 0 {
				ended = time.Now()
			}
			id, err := strconv.ParseUint(out.Text(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, id)
		}
		if err := copies[i].Wait(); err != nil || len(made) != count {
			t.Fatalf("%v: %d IDs, %v", copies[i].Args, len(made), err)
		}
		ids = append(ids, made)
	}
	return ids, ended
}

// TestCopiesRepeatIDs records the IDs that two containers of one image repeat, if nothing leases their workers.
func TestCopiesRepeatIDs(t *testing.T) {
	for _, l := range libraries() {
		t.Run(l.name, func(t *testing.T) {
			var copies []*exec.Cmd
			for range 2 {
				c := l.command(t, l.count)
				c.Env = append(os.Environ(), l.env...)
				copies = append(copies, c)
			}
			ids, _ := play(t, l.count, copies...)
			first := make(map[uint64]bool, l.count)
			for _, id := range ids[0] {
				first[id] = true
			}
			twice := 0
			for _, id := range ids[1] {
				if first[id] {
					twice++
				}
			}
			t.Logf("of %d IDs each, %d came twice; %d of the first copy alone", l.count, twice, l.count-len(first))
			if twice == 0 {
				t.Error("no ID came twice")
			}
		})
	}
}

// TestLayoutsOfLibraries gives a worker to the real libraries, and reads it in each of their IDs. The times of IDs are those of
// the run, and ahead of the clock by no more than expected.
func TestLayoutsOfLibraries(t *testing.T) {
	const worker = 11<<5 | 26
	for _, l := range libraries() {
		t.Run(l.name, func(t *testing.T) {
			command := l.command(t, l.count, strconv.Itoa(worker))
			began := time.Now()
			ids, ended := play(t, l.count, command)
			furthest := time.Time{}
			for _, id := range ids[0] {
				p, err := l.layout.Unpack(id)
				if err != nil || p.Worker != worker {
					t.Fatalf("ID %d has the parts %+v, %v, want worker %d", id, p, err, worker)
				}
				at := l.layout.TimeOf(id)
				if at.Before(began.Add(-time.Second)) {
					t.Fatalf("ID %d is from %v, before the run at %v", id, at, began)
				}
				if at.After(furthest) {
					furthest = at
				}
			}
			if furthest.After(ended.Add(l.ahead)) {
				t.Errorf("an ID is from %v, and the last was made before %v", furthest, ended)
			}
		})
	}
}
