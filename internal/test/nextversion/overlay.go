// Package nextversion makes sources of Snowraft as a next version could be: one that knows one more command of the log.
// Tests build it in addition to the program under test, to run members of both in one cluster. [Build] builds its
// programs.
//
// Nothing of it is in the program: the go command builds with other sources in place of the real ones (-overlay), as for
// planted bugs. A leader of the next version proposes the command Mark every second, once the replicated version allows
// it. Mark adds one to a number in the state, so a replica that skips one, or applies it where the others do not, has
// another digest and other snapshots.
package nextversion

import (
	"context"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/internal/build/mutant"
)

// patchFile has the changes of sources that are not generated.
const patchFile = "internal/test/nextversion/next.patch"

// Overlay writes the sources that differ in the next version of the module at a root to an empty directory, with bugs
// planted in them. It returns the file there that the go command takes as -overlay.
func Overlay(ctx context.Context, root, dir string, bugs ...mutant.Patch) (string, error) {
	patch, err := mutant.Read(root, patchFile)
	if err != nil {
		return "", err
	}
	code, err := protos()
	if err != nil {
		return "", err
	}
	for path, content := range code {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return "", err
		}
		patch.Files = append(patch.Files, path)
	}
	return mutant.Overlay(ctx, root, dir, append(bugs, patch)...)
}

// Build builds a main package of the next version, given by its path in this module, with more flags of go build.
func Build(ctx context.Context, to, pkg string, flags ...string) error {
	return mutant.Build(ctx, to, pkg, func(ctx context.Context, root, dir string) (string, error) { return Overlay(ctx, root, dir) }, flags...)
}
