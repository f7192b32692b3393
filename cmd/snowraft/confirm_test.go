package main

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// A command that cannot be undone requests consent at the terminal, unless --yes is set. Scripts have no terminal.
func TestDangerousCommandsAsk(t *testing.T) {
	t.Parallel()
	for line, question := range map[string]string{
		"seq delete orders":   `Delete the sequence "orders"? [y/N] `,
		"member remove b":     `Remove the member "b" permanently? [y/N] `,
		"member leave":        "Make the member at ADDRESS leave the cluster permanently? [y/N] ",
		"token delete app":    `Revoke the token "app" permanently? [y/N] `,
		"upgrade finalize":    "Finalize the upgrade, and rule out a downgrade? [y/N] ",
		"cluster seal":        "Seal the cluster, so that it never issues anything again? [y/N] ",
		"cluster supersede x": "End cluster x for good? [y/N] ",
		"restore acknowledge": "Allow sequences with new names, for good? [y/N] ",
	} {
		for _, c := range []struct {
			attended, asks, does bool
			input, flag          string
		}{
			{attended: true, input: "y\n", asks: true, does: true},
			{attended: true, input: "YES\n", asks: true, does: true},
			{attended: true, input: "n\n", asks: true},
			{attended: true, input: "\n", asks: true},
			{attended: true, input: "", asks: true},
			{attended: true, flag: "--yes", does: true},
			{does: true},
			{flag: "--yes", does: true},
		} {
			api, w := clitest.NewAPI(t), newTestApp()
			w.Attended = c.attended
			w.In.WriteString(c.input)
			args := append(strings.Fields(line), "--addr", api.Address)
			if c.flag != "" {
				args = append(args, c.flag)
			}
			code := run(t.Context(), w.Host, args)
			if asked := strings.HasPrefix(w.Err.String(), strings.ReplaceAll(question, "ADDRESS", api.Address)); asked != c.asks {
				t.Errorf("%s, %+v: %q", line, c, w.Err.String())
			}
			if did := code == cli.ExitDone; did != c.does || !c.does && !strings.HasSuffix(w.Err.String(), "snowraft: not confirmed; nothing was done\n") {
				t.Errorf("%s, %+v: exit code %d, %q", line, c, code, w.Err.String())
			}
		}
	}
}
