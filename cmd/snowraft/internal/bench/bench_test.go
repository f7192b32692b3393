package bench

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var program = clitest.Commands{New}

func TestBenchIDs(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var doc Report
	clitest.Decode(t, program.Succeeds(t, "bench", "ids", "--addr", f.Address, "-d", "500ms", "-b", "2500", "-c", "3", "--layout", "orders", "-o", "json"), &doc)
	asked := f.Requests()
	last := asked[len(asked)-1].(*snowraftv1.GenerateIdsRequest)
	if last.GetCount() != 2500 || last.GetLayout() != "orders" {
		t.Errorf("the last request is %v", last)
	}
	if doc.Calls == 0 || doc.Numbers != 2500*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 || doc.Failed != 0 || doc.Clients != 3 {
		t.Errorf("%+v", doc)
	}
	doc = Report{}
	clitest.Decode(t, program.Succeeds(t, "bench", "ids", "--addr", f.Address, "-d", "500ms", "-r", "10", "--check=false", "-o", "json"), &doc)
	if doc.Calls+doc.Overdue != 5 || doc.Numbers != doc.Calls || doc.Check != nil {
		t.Errorf("%+v, want 5 calls", doc) // overdue: this machine may be slow
	}
}

// The check finds duplicates of the server.
func TestBenchFindsDuplicates(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 4 { // early, because a busy machine makes few calls
			f.Rewind(2)
		}
		return nil
	})
	stdout, stderr, code := program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "400ms", "-c", "1")
	if code != cli.ExitFailed || !strings.Contains(stdout, "Unique   NO: 2 of ") ||
		!strings.HasPrefix(stderr, "snowraft: 2 of ") || !strings.Contains(stderr, " IDs are duplicates: 2497092884008") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchSequence(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var doc Report
	clitest.Decode(t, program.Succeeds(t, "bench", "seq", "countdown", "--addr", f.Address, "-d", "500ms", "-b", "3", "-o", "json"), &doc)
	if doc.Calls == 0 || doc.Numbers != 3*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 {
		t.Errorf("%+v", doc)
	}
}

// A failure before the run is an error, and so is a run without a successful call.
func TestBenchFails(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Before(func(context.Context) error { return status.Error(codes.Internal, "broken") })
	stdout, stderr, code := program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "500ms")
	if code != cli.ExitFailed || stdout != "" || stderr != "snowraft: broken [Internal]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 1 {
			return nil
		}
		return status.Error(codes.Internal, "broken")
	})
	stdout, stderr, code = program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "500ms")
	if code != cli.ExitFailed || !strings.Contains(stdout, "INTERNAL") || stderr != "snowraft: no call succeeded: broken [INTERNAL]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	w := clitest.New()
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 500 {
			w.Sent <- syscall.SIGINT
		}
		return nil
	})
	code := program.In(t.Context(), w.App("test"), "bench", "ids", "--addr", f.Address, "-d", "1h", "-o", "json")
	var doc Report
	clitest.Decode(t, w.Out.String(), &doc)
	if code != cli.ExitDone || !doc.Interrupted || doc.Calls == 0 || doc.Failed != 0 {
		t.Errorf("exit code %d: %s%s", code, w.Out.String(), w.Err.String())
	}
}

func TestBenchWithoutAServer(t *testing.T) {
	t.Parallel()
	for line, exit := range map[string]int{
		"ids": cli.ExitRepeatable, "ids --coalesce": cli.ExitRepeatable, "seq a": cli.ExitRepeatable,
	} {
		stdout, stderr, code := program.Run(t, append([]string{"bench", "--addr", clitest.DeadAddress}, strings.Fields(line)...)...)
		if code != exit || stdout != "" || !strings.Contains(stderr, clitest.DeadAddress) || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s: exit code %d: %s%s", line, code, stdout, stderr)
		}
	}
}

// A run without a successful call has the exit code of its most frequent failure.
func TestBenchExitCodeOfFailures(t *testing.T) {
	t.Parallel()
	for reason, exit := range map[string]int{
		rpc.ClockBehind: cli.ExitRepeatable, rpc.CommitUnknown: cli.ExitRepeatable, "CONNECTION": cli.ExitRepeatable, "TIMEOUT": cli.ExitRepeatable,
		rpc.UnknownSequence: cli.ExitFailed, "WRONG_COUNT": cli.ExitFailed,
	} {
		r := report{result: &load.Result{Failures: []load.Failure{{Reason: reason, Count: 1, Example: "why"}}}}
		command := func(*cli.App) *cobra.Command {
			return &cobra.Command{Use: "bench", RunE: func(*cobra.Command, []string) error { return r.failure() }}
		}
		_, stderr, code := clitest.Commands{command}.Run(t, "bench")
		if want := "snowraft: no call succeeded: why [" + reason; code != exit || !strings.HasPrefix(stderr, want) {
			t.Errorf("exit code %d, want %d: %s", code, exit, stderr)
		}
	}
}
