//go:build linux

package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/snowraft/snowraft/internal/mutant"
	"github.com/snowraft/snowraft/internal/nextversion"
)

// program is the build under test, nextProgram the one that members are upgraded to.
func program(dir string) string { return filepath.Join(dir, "snowraft") }

func nextProgram(dir string) string { return filepath.Join(dir, "snowraft-next") }

// Harness is the build of this harness that knows the commands of the next version, in a directory that BuildMixed filled.
func Harness(dir string) string { return filepath.Join(dir, "jepsen") }

const (
	pkgProgram = "github.com/snowraft/snowraft/cmd/snowraft"
	pkgHarness = "github.com/snowraft/snowraft/jepsen"
)

// Build builds the program under test twice, as a release is built, into a directory; with
// bugs planted if there are any.
func Build(ctx context.Context, dir string, bugs ...string) error {
	return patched(ctx, mutant.Overlay, bugs, func(overlay string) error {
		if err := build(ctx, overlay, program(dir), pkgProgram, "main.version=v0.0.1-jepsen"); err != nil {
			return err
		}
		return build(ctx, overlay, nextProgram(dir), pkgProgram, "main.version=v0.0.2-jepsen")
	})
}

// BuildMixed builds the program under test and its next version, and this harness with what it takes to make and judge
// the run.
func BuildMixed(ctx context.Context, dir string, bugs ...string) error {
	err := patched(ctx, mutant.Overlay, bugs, func(overlay string) error {
		return build(ctx, overlay, program(dir), pkgProgram, "main.version=v0.0.1-jepsen")
	})
	if err != nil {
		return err
	}
	err = patched(ctx, nextversion.Overlay, bugs, func(overlay string) error {
		return build(ctx, overlay, nextProgram(dir), pkgProgram, "main.version=v0.0.2-jepsen")
	})
	if err != nil {
		return err
	}
	return BuildHarness(ctx, dir)
}

// BuildHarness builds the Harness alone. The bugs are not in it, because it judges.
func BuildHarness(ctx context.Context, dir string) error {
	return patched(ctx, nextversion.Overlay, nil, func(overlay string) error {
		return build(ctx, overlay, Harness(dir), pkgHarness, "main.nextVersion=true")
	})
}

// patched calls use with the file that go build takes as -overlay: that of the sources with bugs.
func patched(ctx context.Context, overlay func(ctx context.Context, root, dir string, bugs ...mutant.Patch) (string, error), bugs []string, use func(overlay string) error) error {
	root, err := mutant.Root(ctx)
	if err != nil {
		return err
	}
	patches, err := mutant.Load(root)
	if err != nil {
		return err
	}
	planted, err := mutant.Named(patches, bugs...)
	if err != nil {
		return err
	}
	sources, err := os.MkdirTemp("", "snowraft-sources")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sources) //nolint:errcheck // temporary
	file, err := overlay(ctx, root, sources, planted...)
	if err != nil {
		return err
	}
	return use(file)
}

// build builds a package and sets a variable of its package main.
func build(ctx context.Context, overlay, to, pkg, variable string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", to, "-ldflags", "-X "+variable, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", filepath.Base(to), err)
	}
	return nil
}
