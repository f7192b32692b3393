package main

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
)

// When a stream breaks, top reports that with the time, and continues with the next address.
func TestTopContinuesWithTheNextAddress(t *testing.T) {
	t.Parallel()
	first, second := newFakeAPI(t), newFakeAPI(t)
	out := succeeds(t, "top", "-n", "4", "--addr", first.address+","+second.address)
	views := strings.Split(out, "\n\nb does not answer")
	if len(views) != 4 {
		t.Errorf("%d views, want 4:\n%s", len(views), out)
	}
	want := "No view since 14:12:20 UTC: " + first.address + ": this member is shutting down [SHUTTING_DOWN]; trying " + second.address + "\n"
	if !strings.Contains(out, want) {
		t.Errorf("prints\n%s\nwant %s", out, want)
	}
	if !strings.Contains(views[3], "as "+second.address+" sees") {
		t.Errorf("the last view is\n%s", views[3])
	}
}

// In JSON, each overview has its own line, and standard error reports a broken stream.
func TestTopInJSON(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	stdout, stderr, code := command(t, "top", "-n", "4", "-o", "json", "--addr", f.address)
	if code != cli.ExitDone || strings.Count(stdout, "\n") != 4 || strings.Count(stdout, `{"overview":{"clusterId":"c-1"`) != 4 {
		t.Errorf("exit code %d, prints %s", code, stdout)
	}
	if want := "no view since 14:12:20 UTC: " + f.address + ": this member is shutting down [SHUTTING_DOWN]; trying " + f.address + "\n"; stderr != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
}

// Ctrl-C ends top successfully, and a refusal ends it immediately.
func TestTopEnds(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	a := newTestApp()
	a.Sent <- interrupt
	if code := run(t.Context(), a.Host, []string{"top", "--addr", f.address}); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, a.Err.String())
	}
	refuseWith(f, rpc.NewError(rpc.PermissionDenied, "token 7 lacks the scope cluster:read"))
	if _, stderr, code := command(t, "top", "--addr", f.address); code != cli.ExitFailed || !strings.Contains(stderr, "cluster:read") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
