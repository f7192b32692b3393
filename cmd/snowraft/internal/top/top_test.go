package top

import (
	"strings"
	"syscall"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
)

var program = clitest.Commands{New}

// When a stream breaks, top reports that with the time, and continues with the next address.
func TestTopContinuesWithTheNextAddress(t *testing.T) {
	t.Parallel()
	first, second := clitest.NewAPI(t), clitest.NewAPI(t)
	out := program.Succeeds(t, "top", "-n", "4", "--addr", first.Address+","+second.Address)
	views := strings.Split(out, "\n\nb does not answer")
	if len(views) != 4 {
		t.Errorf("%d views, want 4:\n%s", len(views), out)
	}
	want := "No view since 14:12:20 UTC: " + first.Address + ": this member is shutting down [SHUTTING_DOWN]; trying " + second.Address + "\n"
	if !strings.Contains(out, want) {
		t.Errorf("prints\n%s\nwant %s", out, want)
	}
	if !strings.Contains(views[3], "as "+second.Address+" sees") {
		t.Errorf("the last view is\n%s", views[3])
	}
}

// In JSON, each overview has its own line, and standard error reports a broken stream.
func TestTopInJSON(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	stdout, stderr, code := program.Run(t, "top", "-n", "4", "-o", "json", "--addr", f.Address)
	if code != cli.ExitDone || strings.Count(stdout, "\n") != 4 || strings.Count(stdout, `{"overview":{"clusterId":"c-1"`) != 4 {
		t.Errorf("exit code %d, prints %s", code, stdout)
	}
	if want := "no view since 14:12:20 UTC: " + f.Address + ": this member is shutting down [SHUTTING_DOWN]; trying " + f.Address + "\n"; stderr != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
}

// Ctrl-C ends top successfully, and a refusal ends it immediately.
func TestTopEnds(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	w := clitest.New()
	w.Sent <- syscall.SIGINT
	if code := program.In(t.Context(), w.App("test"), "top", "--addr", f.Address); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, w.Err.String())
	}
	f.Refuse(rpc.NewError(rpc.PermissionDenied, "token 7 lacks the scope cluster:read"))
	if _, stderr, code := program.Run(t, "top", "--addr", f.Address); code != cli.ExitFailed || !strings.Contains(stderr, "cluster:read") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
