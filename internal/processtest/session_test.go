//go:build process

package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedSessions holds the sessions of the documentation to what a new
// cluster answers: all commands of a page, from top to bottom, to the byte.
func TestDocumentedSessions(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"sequences.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("../../docs", page))
			if err != nil {
				t.Fatal(err)
			}
			steps := session(string(text))
			if len(steps) < 5 {
				t.Fatalf("only %d commands were found", len(steps))
			}
			m := startCluster(t, 1)[0]
			for _, s := range steps {
				if got := shell(t, m, s.command); got != s.output {
					t.Fatalf("$ %s\nprints\n%s\nexpected\n%s", s.command, got, s.output)
				}
			}
		})
	}
}

// step is a command and what it prints.
type step struct{ command, output string }

// session returns what the console blocks of a page hold.
func session(page string) []step {
	var steps []step
	inside := false
	for line := range strings.Lines(page) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case !inside:
			inside = line == "```console\n"
		case line == "```\n":
			inside = false
		case isCommand:
			steps = append(steps, step{command: strings.TrimSuffix(command, "\n")})
		case len(steps) > 0:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

// shell runs a line as people do who copy it, and returns all that it prints.
func shell(t *testing.T, m *member, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), at(m)[0])
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(output)
}
