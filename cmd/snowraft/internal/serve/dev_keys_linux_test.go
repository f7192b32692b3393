package serve

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/internal/test/terminal"
	"github.com/snowraft/snowraft/server"
)

// devOnTerminal runs dev with fake members on a terminal.
type devOnTerminal struct {
	t      *testing.T
	keys   func(string)
	lines  chan string // lines that appear
	opened chan server.Config
	closed chan string // members, and the way in which each was closed
	code   chan int
}

func startDevOnTerminal(t *testing.T) *devOnTerminal {
	t.Helper()
	a, _, _ := devApp(t)
	open := a.open
	d := &devOnTerminal{t: t, lines: make(chan string, 1<<16), opened: make(chan server.Config, 16), closed: make(chan string, 16), code: make(chan int, 1)}
	a.open = func(ctx context.Context, cfg server.Config) (member, error) {
		m, err := open(ctx, cfg)
		m.(*fakeMember).shut = func(ctx context.Context) error {
			how := " in order"
			if ctx.Err() != nil {
				how = " at once"
			}
			d.closed <- cfg.Name + how
			return nil
		}
		d.opened <- cfg
		return m, err
	}
	keyboard, screen := terminal.Open(t)
	a.Stdin, a.Stdout = screen, screen
	d.keys = func(keys string) {
		if _, err := keyboard.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		var line []byte
		some := make([]byte, 4096)
		for {
			n, err := keyboard.Read(some)
			for _, c := range some[:n] {
				if c != '\n' {
					line = append(line, c)
					continue
				}
				d.lines <- string(line)
				line = nil
			}
			if err != nil {
				return
			}
		}
	}()
	base := strconv.Itoa(freeport.Base(t, devPorts))
	go func() { d.code <- a.run(t.Context(), "dev", "--data-dir", t.TempDir(), "--port-base", base) }()
	return d
}

// shows waits for a line with all the texts.
func (d *devOnTerminal) shows(texts ...string) {
	d.t.Helper()
	for line := range d.lines {
		missing := 0
		for _, text := range texts {
			if !strings.Contains(line, text) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
}

// Keys kill, start and cut off a member of dev. A killed member is closed without the time to return anything, and starts with its data.
func TestDevKeys(t *testing.T) {
	t.Parallel()
	d := startDevOnTerminal(t)
	var first []server.Config
	for range devMembers {
		first = append(first, <-d.opened)
	}
	d.shows("Keys: k kill")
	d.keys("k")
	d.shows("kill which member? 1, 2 or 3")
	d.keys("2")
	d.shows("2 ", "dev-2", "killed")
	if got := <-d.closed; got != "dev-2 at once" {
		t.Errorf("the key closes %s", got)
	}
	d.keys("c2")
	d.shows("dev-2 is killed")
	d.keys("s2")
	if again := <-d.opened; again.Name != "dev-2" || again.DataDir != first[1].DataDir || again.RaftAddr != first[1].RaftAddr {
		t.Errorf("the key starts %+v", again)
	}
	d.shows("dev-2 runs again")
	network := first[0].Network
	if _, err := network.DialContext(t.Context(), "tcp", first[2].RaftAddr); err == nil || errors.Is(err, errCut) {
		t.Errorf("before the cut: %v", err)
	}
	d.keys("c3")
	d.shows("dev-3", "cut off")
	if _, err := network.DialContext(t.Context(), "tcp", first[2].RaftAddr); !errors.Is(err, errCut) {
		t.Errorf("after the cut: %v", err)
	}
	d.keys("c3")
	d.shows("dev-3 reaches the others again")
	d.shows("strict numbers ")
	d.keys("q")
	if code := <-d.code; code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	for range devMembers {
		if got := <-d.closed; !strings.HasSuffix(got, " in order") {
			t.Errorf("at the end, %s is closed", got)
		}
	}
}
