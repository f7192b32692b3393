package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root returns the root directory of the module in whose sources this process was started.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// Overlay applies patches, one after the other, to copies of the sources in a directory, and returns the file there
// that the go command takes as -overlay. A source that the directory has already stands for the real one. It fails if a
// patch does not apply.
func Overlay(ctx context.Context, root, dir string, patches ...Patch) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string) // paths of sources -> paths of what stands for them
	for _, p := range patches {
		for _, file := range p.Files {
			if _, copied := replace[filepath.Join(root, file)]; copied {
				continue
			}
			replace[filepath.Join(root, file)] = filepath.Join(dir, file)
			if err := copyFile(filepath.Join(root, file), filepath.Join(dir, file)); err != nil {
				return "", err
			}
		}
		cmd := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", filepath.Join(root, p.File)) //nolint:gosec // a patch of this repository
		cmd.Dir = dir
		// In a repository, git leaves out what is not below the working directory.
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s does not apply (see CONTRIBUTING.md to write it again): %w: %s", p.File, err, bytes.TrimSpace(out))
		}
	}
	for source, copied := range replace {
		if _, err := os.Stat(copied); errors.Is(err, fs.ErrNotExist) {
			replace[source] = "" // removed
		}
	}
	return writeOverlay(dir, replace)
}

// writeOverlay writes the file that the go command takes as -overlay to a directory, and returns its path.
func writeOverlay(dir string, replace map[string]string) (string, error) {
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// copyFile copies a source, if there is one, because a patch may add it, and if there is no copy yet.
func copyFile(from, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	raw, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600) //nolint:gosec // below the directory that the caller chose
}
