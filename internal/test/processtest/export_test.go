//go:build databases

package processtest

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
)

// playBack moves the sequence back to its counter while new programs draw numbers, one of them from a block in its memory. The old
// programs draw again after that.
func (m move) playBack(t *testing.T, at1 *member, c *client.Client, record func(n int64, by string)) {
	t.Helper()
	kind, args := m.source[0], []string{"orders"}
	for i, arg := range m.source {
		if arg == "--map" {
			args = append(args, arg, m.source[i+1])
		}
	}
	run := func(want int, more ...string) (stdout string) {
		t.Helper()
		stdout, stderr, code := command(t, at(at1), append(append([]string{"export", kind}, args...), more...)...)
		if code != want {
			t.Fatalf("export %v: exit code %d, want %d\n%s%s", more, code, want, stdout, stderr)
		}
		return stdout
	}
	relaxed := kind == "leaf" || kind == "tinyid"
	// The process looks for changes each hour: it is as good as one that is stopped during the move and continues afterwards.
	blocks, err := client.NewBlocks(c, "orders", client.WithBlocksRefresh(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := blocks.Next(context.Background()); relaxed && err == nil {
		record(n, "a program with a block")
	} else if relaxed {
		t.Fatal(err)
	}

	var fresh, busy sync.WaitGroup // until the move, and until each new program has some numbers
	busy.Add(drawers)
	for range drawers {
		fresh.Go(func() {
			for i := 0; ; i++ {
				n, err := c.Sequence("orders").Next(context.Background())
				if err == nil && m.use != nil {
					err = m.use(n)
				}
				if i == 10 || err != nil && i < 10 {
					busy.Done()
				}
				if err != nil {
					if e, ok := errors.AsType[*client.Error](err); !ok || e.Reason != rpc.SequenceMoved {
						t.Error(err)
					}
					return
				}
				record(n, "a new program")
			}
		})
	}
	busy.Wait()
	if plan := run(0); !strings.Contains(plan, "move") || !strings.Contains(plan, "Nothing was changed") {
		t.Errorf("plan: %s", plan)
	}
	if relaxed {
		run(2, "--apply")
	}
	script := run(0, "--apply", "--holders-stopped")
	fresh.Wait()
	if n, err := m.drawer(t)(); err == nil {
		t.Errorf("an old program draws %d before the statements were run", n)
	}
	for range 2 { // the statements never lower the counter
		if again := run(0, "--apply"); again != script {
			t.Errorf("the export again prints\n%s, want\n%s", again, script)
		}
		cmd := exec.Command(m.client[0], m.client[1:]...)
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s\n%s", m.client, err, out, script)
		}
		var old sync.WaitGroup
		for range drawers {
			draw := m.drawer(t)
			old.Go(func() {
				for range 20 {
					n, err := draw()
					if err != nil {
						t.Error(err)
						return
					}
					record(n, "an old program again")
				}
			})
		}
		old.Wait()
	}
	for range 10 { // refused, or disjoint
		if n, err := blocks.Next(context.Background()); err == nil {
			record(n, "a program with a block that continues after the move")
		}
	}
}
