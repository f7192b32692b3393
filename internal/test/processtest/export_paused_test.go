//go:build databases

package processtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
)

// The variables of an application with blocks in its memory: the address of a member, and the interval of its checks for changes.
const (
	blocksAddress = "SNOWRAFT_TEST_BLOCKS"
	blocksRefresh = "SNOWRAFT_TEST_REFRESH"
)

func init() {
	if address := os.Getenv(blocksAddress); address != "" {
		issueFromBlocks(address)
		os.Exit(0)
	}
}

// issueFromBlocks is the application. For each line of its input, a count, it prints one line per call: a number, or the reason of
// the error.
func issueFromBlocks(address string) {
	c, err := client.New([]string{address})
	if err != nil {
		panic(err)
	}
	refresh, err := time.ParseDuration(os.Getenv(blocksRefresh))
	if err != nil {
		panic(err)
	}
	blocks, err := client.NewBlocks(c, "orders", client.WithBlocksRefresh(refresh))
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		count, _ := strconv.Atoi(lines.Text())
		for range count {
			if n, err := blocks.Next(context.Background()); err != nil {
				fmt.Fprintln(os.Stdout, reasonOf(err))
			} else {
				fmt.Fprintln(os.Stdout, n)
			}
		}
	}
}

func reasonOf(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok && e.Reason != "" {
		return e.Reason
	}
	return err.Error()
}

// blockProgram is a process that issues numbers from blocks.
type blockProgram struct {
	*process
	input   io.Writer
	printed int // lines that were read
}

func startBlockProgram(t *testing.T, m *member, refresh time.Duration) *blockProgram {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	env := []string{blocksAddress + "=" + m.api, blocksRefresh + "=" + refresh.String()}
	p := startBy(t, func(cmd *exec.Cmd) error { cmd.Stdin = read; return cmd.Start() }, os.Args[0], env)
	return &blockProgram{process: p, input: write}
}

// ask lets the application call for n numbers, and returns its lines.
func (a *blockProgram) ask(n int) []string {
	a.t.Helper()
	if _, err := fmt.Fprintln(a.input, n); err != nil {
		a.t.Fatal(err)
	}
	until(a.t, "the application has answered", func() bool { return strings.Count(a.stdout.String(), "\n") >= a.printed+n })
	lines := strings.Split(a.stdout.String(), "\n")[a.printed : a.printed+n]
	a.printed += n
	return lines
}

// TestExportWhileApplicationsArePaused moves a sequence while processes that hold blocks of it are stopped by a signal. The old system
// issues on. When the processes continue, each of their numbers is one that no other program got, and in the end all calls are refused.
func TestExportWhileApplicationsArePaused(t *testing.T) {
	address := startRedis(t)
	_, port, _ := strings.Cut(address, ":")
	m := startCluster(t, 1)[0]
	mustSucceed(t, m, "seq", "create", "orders", "--mode", "relaxed", "--min-block", "500", "--max-block", "500")
	issued := map[int64]string{}
	record := func(n int64, by string) {
		if other := issued[n]; other != "" {
			t.Errorf("number %d came to %s and to %s", n, other, by)
		}
		issued[n] = by
	}
	// One looks for changes when it continues, the other does not until its blocks are used up.
	paused := map[string]*blockProgram{"the application that looks": startBlockProgram(t, m, 100*time.Millisecond), "the application that does not": startBlockProgram(t, m, time.Hour)}
	for who, a := range paused {
		for _, line := range a.ask(20) {
			record(mustParseNumber(t, line), who)
		}
		a.signal(syscall.SIGSTOP)
	}
	for range 20 {
		record(mustParseNumber(t, mustSucceed(t, m, "seq", "next", "orders")), "another program")
	}
	if _, stderr, code := command(t, at(m), "export", "redis", "orders", "--apply"); code == 0 || !strings.Contains(stderr, "--holders-stopped") {
		t.Errorf("export without a statement about holders: exit code %d, %s", code, stderr)
	}
	statements := exec.Command(installed(t, "redis-cli", "redis-tools"), "-e", "-p", port)
	statements.Stdin = strings.NewReader(mustSucceed(t, m, "export", "redis", "orders", "--apply", "--holders-stopped"))
	if out, err := statements.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	old, err := redis.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for range 3000 { // more than all blocks together
		n, err := redis.Int64(old.Do("INCR", "orders"))
		if err != nil {
			t.Fatal(err)
		}
		record(n, "the old system")
	}
	for who, a := range paused {
		a.signal(syscall.SIGCONT)
		lines := a.ask(2500)
		for _, line := range lines {
			if n, err := strconv.ParseInt(line, 10, 64); err == nil {
				record(n, who)
			} else if line != rpc.SequenceMoved {
				t.Errorf("%s gets the error %s", who, line)
			}
		}
		if last := lines[len(lines)-1]; last != rpc.SequenceMoved {
			t.Errorf("%s gets %s after its blocks are used up, want %s", who, last, rpc.SequenceMoved)
		}
	}
}

func mustParseNumber(t *testing.T, line string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
