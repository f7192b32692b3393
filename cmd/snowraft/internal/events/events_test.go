package events

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

func TestEventsNameUnreachedMembers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Unreached = []string{"b", "c"}
	stdout, stderr, code := clitest.Commands{New}.Run(t, "events", "--addr", f.Address)
	if want := "events missing, because these members did not answer in time: b, c"; code != 0 || !strings.Contains(stderr, want) || !strings.Contains(stdout, "delete sequence") {
		t.Errorf("exit code %d, %s%s, want %s", code, stdout, stderr, want)
	}
}
