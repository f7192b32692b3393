package mutant

import (
	"context"
	"os"
	"os/exec"
)

// Build builds a main package of this module, given by its path in it, with more flags of go build. overlay writes the changed
// sources to an empty directory, and returns the file there that the go command takes as -overlay.
func Build(ctx context.Context, to, pkg string, overlay func(ctx context.Context, root, dir string) (string, error), flags ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "snowraft-sources-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	file, err := overlay(ctx, root, dir)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-overlay", file, "-o", to}, flags...), pkg)...) //nolint:gosec // a package of this module
	cmd.Dir, cmd.Stderr = root, os.Stderr
	return cmd.Run()
}
