//go:build linux

package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// program is the build under test, nextProgram the one that members are upgraded to.
func program(dir string) string { return filepath.Join(dir, "snowraft") }

func nextProgram(dir string) string { return filepath.Join(dir, "snowraft-next") }

// Build builds the program under test twice, as a release is built, into a directory; with
// build tags if there are any.
func Build(ctx context.Context, dir, tags string) error {
	for path, version := range map[string]string{program(dir): "v0.0.1-jepsen", nextProgram(dir): "v0.0.2-jepsen"} {
		args := []string{"build", "-o", path, "-ldflags", "-X main.version=" + version}
		if tags != "" {
			args = append(args, "-tags", tags)
		}
		cmd := exec.CommandContext(ctx, "go", append(args, "github.com/snowraft/snowraft/cmd/snowraft")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building the program under test: %w", err)
		}
	}
	return nil
}
