//go:build linux

package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/snowraft/snowraft/internal/mutant"
)

// program is the build under test, nextProgram the one that members are upgraded to.
func program(dir string) string { return filepath.Join(dir, "snowraft") }

func nextProgram(dir string) string { return filepath.Join(dir, "snowraft-next") }

// Build builds the program under test twice, as a release is built, into a directory; with
// bugs planted if there are any.
func Build(ctx context.Context, dir string, bugs ...string) error {
	flags := []string{"build"}
	if len(bugs) > 0 {
		sources, err := os.MkdirTemp("", "snowraft-mutants")
		if err != nil {
			return err
		}
		defer os.RemoveAll(sources) //nolint:errcheck // temporary
		overlay, err := plant(ctx, sources, bugs)
		if err != nil {
			return err
		}
		flags = append(flags, "-overlay", overlay)
	}
	for path, version := range map[string]string{program(dir): "v0.0.1-jepsen", nextProgram(dir): "v0.0.2-jepsen"} {
		args := append(slices.Clip(flags), "-o", path, "-ldflags", "-X main.version="+version, "github.com/snowraft/snowraft/cmd/snowraft")
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building the program under test: %w", err)
		}
	}
	return nil
}

// plant writes the sources with bugs into a directory, and returns the file that go build takes as -overlay.
func plant(ctx context.Context, dir string, bugs []string) (string, error) {
	root, err := mutant.Root(ctx)
	if err != nil {
		return "", err
	}
	patches, err := mutant.Load(root)
	if err != nil {
		return "", err
	}
	planted, err := mutant.Named(patches, bugs...)
	if err != nil {
		return "", err
	}
	return mutant.Overlay(ctx, root, dir, planted...)
}
