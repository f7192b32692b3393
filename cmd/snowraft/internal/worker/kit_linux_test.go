package worker

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/server"
)

// asProgram makes the test binary the program.
const asProgram = "SNOWRAFT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(clitest.Commands{New}.In(context.Background(), cli.System("test"), os.Args[1:]...))
	}
	os.Exit(m.Run())
}

// member is a cluster of one member.
type member struct {
	*server.Server
	remote *cli.Remote
}

func startMember(t *testing.T) *member {
	t.Helper()
	cfg := server.Config{Name: "a", DataDir: t.TempDir(), BootstrapExpect: 1, Version: "v0.0.0", MaxWindow: window}
	for _, address := range []*string{&cfg.APIAddr, &cfg.HTTPAddr, &cfg.RaftAddr, &cfg.GossipAddr} {
		*address = cli.Localhost + ":0"
	}
	m, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	r, err := cli.Dial([]string{m.APIAddr()}, time.Minute, cli.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for m.Ready() != nil {
		<-tick.C
	}
	return &member{m, r}
}

// window is the length of the windows of a member.
const window = 6 * time.Second

// wrapped is a running "worker run".
type wrapped struct {
	*exec.Cmd
	output *os.File       // the pipe that only the command and its descendants write
	lines  *bufio.Scanner // lines of output, until the last of these processes exits
	keep   *os.File       // a further writer until the first line
	errors bytes.Buffer
	done   chan struct{}
}

// wrap runs a shell script under "worker run" with a stop timeout of 1 s. The variable WORKER has its number.
func (m *member) wrap(t *testing.T, script string, flags ...string) *wrapped {
	t.Helper()
	return m.wrapPlain(t, script, append(flags, "--env-worker", "WORKER")...)
}

// wrapPlain does the same without the variable.
func (m *member) wrapPlain(t *testing.T, script string, flags ...string) *wrapped {
	t.Helper()
	w := m.prepare(t, script, flags...)
	w.launch(t)
	return w
}

// prepare returns a wrapper that is to be launched.
func (m *member) prepare(t *testing.T, script string, flags ...string) *wrapped {
	t.Helper()
	path := filepath.Join(t.TempDir(), "output")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"worker", "run", "--addr", m.APIAddr(), "--stop-timeout", "1s"}, flags...)
	w := &wrapped{Cmd: exec.CommandContext(t.Context(), "/proc/self/exe", append(args, "--", "sh", "-c", "exec >"+path+"; "+script)...), done: make(chan struct{})}
	w.Env = append(os.Environ(), asProgram+"=1")
	w.Stderr, w.WaitDelay = &w.errors, time.Second // a descendant that survives must not delay the failure
	var err error
	if w.output, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.output.Close() })
	if w.keep, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(w.output)
	return w
}

// launch starts the wrapper.
func (w *wrapped) launch(t *testing.T) {
	t.Helper()
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = w.Wait()
		_ = w.keep.Close()
		close(w.done)
	}()
	t.Cleanup(func() {
		_ = w.Process.Kill()
		<-w.done
	})
}

// begin waits for the first line of the output. It skips the test where no containment is possible.
func (w *wrapped) begin(t *testing.T) {
	t.Helper()
	if !w.lines.Scan() {
		<-w.done
		if strings.Contains(w.errors.String(), "--weak-containment") {
			t.Skip("no containment here: " + w.errors.String())
		}
		t.Fatal(w.errors.String())
	}
	_ = w.keep.Close()
}

// last returns the last line of the output, after all processes with the output have ended.
func (w *wrapped) last(t *testing.T) (line string) {
	t.Helper()
	_ = w.output.SetReadDeadline(time.Now().Add(5 * window))
	for w.lines.Scan() {
		line = w.lines.Text()
	}
	if w.lines.Err() != nil {
		t.Fatalf("the command has not ended: %v", w.lines.Err())
	}
	return line
}

// code returns the exit code of the wrapper.
func (w *wrapped) code() int {
	<-w.done
	return w.ProcessState.ExitCode()
}
