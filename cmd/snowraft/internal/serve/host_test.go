package serve

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

func TestServersAreRefusedOnWindows(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"serve"}, {"gateway", "--members", "a:1"}, {"dev"}} {
		a := newTestApp()
		a.system = "windows"
		code := a.run(t.Context(), args...)
		if says := a.Err.String(); code != cli.ExitFailed || !strings.Contains(says, args[0]+" is not supported on Windows") {
			t.Errorf("%q: exit code %d: %s", args, code, says)
		}
	}
}
