//go:build linux

package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/snowraft/snowraft/internal/build/mutant"
	"github.com/snowraft/snowraft/internal/test/nextversion"
)

// program returns the path of the program under test. nextProgram returns the path of the program to which members upgrade.
func program(dir string) string { return filepath.Join(dir, "snowraft") }

func nextProgram(dir string) string { return filepath.Join(dir, "snowraft-next") }

// Harness returns the path of the harness in a directory that BuildMixed or BuildHarness filled. That build knows the
// commands of the next version.
func Harness(dir string) string { return filepath.Join(dir, "jepsen") }

const (
	pkgProgram = "github.com/snowraft/snowraft/cmd/snowraft"
	pkgHarness = "github.com/snowraft/snowraft/jepsen"
)

// Build builds the program under test into dir, like a release and with the named bugs planted. The second build differs
// in its version number only, for upgrades.
func Build(ctx context.Context, dir string, bugs ...string) error {
	return patched(ctx, mutant.Overlay, bugs, func(overlay string) error {
		if err := build(ctx, overlay, program(dir), pkgProgram, "main.version=v0.0.1-jepsen"); err != nil {
			return err
		}
		return build(ctx, overlay, nextProgram(dir), pkgProgram, "main.version=v0.0.2-jepsen")
	})
}

// BuildMixed builds the program under test, its next version and a Harness into dir. The programs have the named bugs
// planted.
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

// BuildHarness builds only the Harness into dir. It has no planted bugs, because it judges runs.
func BuildHarness(ctx context.Context, dir string) error {
	return patched(ctx, nextversion.Overlay, nil, func(overlay string) error {
		return build(ctx, overlay, Harness(dir), pkgHarness, "main.nextVersion=true")
	})
}

// overlayFunc writes sources with bugs into dir and returns the path of a file for "go build -overlay".
type overlayFunc func(ctx context.Context, root, dir string, bugs ...mutant.Patch) (string, error)

// patched calls use with the path of an overlay file of the sources with the named bugs. The file exists during the call.
func patched(ctx context.Context, overlay overlayFunc, bugs []string, use func(overlay string) error) error {
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

// build builds the program pkg into the file to. variable is the NAME=VALUE of a string variable that the linker sets.
func build(ctx context.Context, overlay, to, pkg, variable string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", to, "-ldflags", "-X "+variable, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", filepath.Base(to), err)
	}
	return nil
}
