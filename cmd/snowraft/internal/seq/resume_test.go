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

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
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
