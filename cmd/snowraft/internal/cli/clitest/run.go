package clitest

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// Addresses without a listener.
const (
	DeadAddress      = cli.Localhost + ":1"
	OtherDeadAddress = cli.Localhost + ":2"
)

// Commands are commands of the program, each with its subcommands.
type Commands []func(*cli.App) *cobra.Command

// In runs a command line in an app and returns the exit code.
func (c Commands) In(ctx context.Context, a *cli.App, args ...string) int {
	root := &cobra.Command{Use: "snowraft"}
	for _, command := range c {
		root.AddCommand(command(a))
	}
	return a.Run(ctx, root, args)
}

// Run runs a command line in a new world.
func (c Commands) Run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	w := New()
	code = c.In(t.Context(), w.App("test"), args...)
	return w.Out.String(), w.Err.String(), code
}

// Succeeds runs a command line that must succeed without a warning, and returns its output.
func (c Commands) Succeeds(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := c.Run(t, args...)
	if code != cli.ExitDone || stderr != "" {
		t.Fatalf("snowraft %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// Decode reads a JSON document that has no unknown fields.
func Decode(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares got with a file of testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	GoldenAt(t, "testdata/"+name+".golden", got)
}

// GoldenAt compares got with a file.
func GoldenAt(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is right, run the tests of this package with -update\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
