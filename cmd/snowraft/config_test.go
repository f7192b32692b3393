package main

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

func TestConfigSetNamesUnreachedMembers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Unreached = []string{"b", "c"}
	stdout, stderr, code := command(t, "config", "set", "--rollback", "swap", "--addr", f.Address, "-o", "json")
	want := "snowraft: warning: change committed; not acknowledged in time by members: b, c; until they learn of the change, they may use the previous configuration\n"
	if code != cli.ExitDone || stderr != want || !strings.Contains(stdout, `"unreachedMembers":["b","c"]`) {
		t.Errorf("exit code %d, %q and %q, want %q", code, stdout, stderr, want)
	}
}
