package seq

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// numbersFile writes a file for "seq resume --file" with these sequences.
func numbersFile(t *testing.T, all []string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "numbers.txt")
	if err := os.WriteFile(path, []byte(strings.Join(all, " 5\n")+" 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sequenceNames(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("s", i))
	}
	return all
}

func TestResumeManySequencesAtOnceInOrder(t *testing.T) {
	t.Parallel()
	const count, together = 300, 32
	f := clitest.NewAPI(t)
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	f.Before(func(ctx context.Context) error {
		mu.Lock()
		if waiting++; waiting == together {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	given := sequenceNames(count)
	given[200] = "thawed"
	stdout, stderr, code := program.Run(t, "seq", "resume", "--addr", f.Address, "--file", numbersFile(t, given), "--holders-stopped", "--timeout", "20s")
	if code == cli.ExitDone || !strings.Contains(stderr, `sequence "thawed", 201 of 300: sequence is not frozen`) || !strings.Contains(stderr, "resumed 299 of 300 sequences") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != count-1 {
		t.Fatalf("%d lines: %s", len(lines), stdout)
	}
	for i, line := range lines {
		if i >= 200 {
			i++
		}
		if !strings.Contains(line, fmt.Sprintf(`"s%d"`, i)) {
			t.Fatalf("line %d: %s", i, line)
		}
	}
}

// The operator must state that no holder of blocks still runs, or how many numbers to skip for them.
func TestResumeNeedsAStatementAboutHolders(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	for _, line := range []string{"orders", "orders --after 5", "orders --holders-stopped", "--file " + numbersFile(t, sequenceNames(3)), "--all"} {
		args := append([]string{"seq", "resume", "--addr", f.Address}, strings.Fields(line)...)
		if _, stderr, code := program.Run(t, args...); code != cli.ExitUsage || len(f.Requests()) != 0 {
			t.Errorf("seq resume %s: exit code %d, requests %v: %s", line, code, f.Requests(), stderr)
		}
	}
}

// A sequence that was resumed meanwhile does not skip numbers a second time.
func TestResumeAllNamesGenerations(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	program.Succeeds(t, "seq", "resume", "--all", "--skip", "1000", "--addr", f.Address)
	want := map[string]*snowraftv1.ResumeSequenceRequest{
		"countdown": {Sequence: "countdown", Margin: 1000, ExpectedGeneration: new(uint64(9))},
		"orders":    {Sequence: "orders", Margin: 1000, ExpectedGeneration: new(uint64(7))},
	}
	resumed := 0
	for _, r := range f.Requests() {
		if r, ok := r.(*snowraftv1.ResumeSequenceRequest); ok {
			resumed++
			if !proto.Equal(r, want[r.GetSequence()]) {
				t.Errorf("requests %v, want %v", r, want[r.GetSequence()])
			}
		}
	}
	if resumed != len(want) {
		t.Errorf("%d requests, want %d", resumed, len(want))
	}
}

func TestResumeStopsWhenMembersFail(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Before(func(context.Context) error { return status.Error(codes.Internal, "broken") })
	stdout, stderr, code := program.Run(t, "seq", "resume", "--addr", f.Address, "--file", numbersFile(t, sequenceNames(1000)), "--holders-stopped")
	if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, `sequence "s0", 1 of 1000: broken`) || !strings.Contains(stderr, "resumed 0 of 1000") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if calls := len(f.Requests()); calls > 200 {
		t.Errorf("%d calls after the first failed", calls)
	}
}

func TestResumeRefusesASequenceOnTwoLines(t *testing.T) {
	t.Parallel()
	path := numbersFile(t, []string{"a", "b", "a"})
	if _, stderr, code := program.Run(t, "seq", "resume", "--file", path, "--holders-stopped"); code != cli.ExitUsage || !strings.Contains(stderr, path+`:3: sequence "a" is on line 1 too`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
