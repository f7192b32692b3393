package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// secrets is the directory to which the secrets of new tokens go, and nowhere else. Each has a file of its own, which only its
// owner can read, and which replaces no other file.
type secrets struct{ dir string }

// path returns the file of a token. No name of a token has a slash.
func (s *secrets) path(token string) string { return filepath.Join(s.dir, token+".token") }

// refusal says why the secret of a new token has no file; empty if it has one. A dry run needs no directory.
func (s *secrets) refusal(token string, dry bool) string {
	switch {
	case s.dir == "" && dry:
		return ""
	case s.dir == "":
		return "its secret needs a file; set --secrets-dir"
	}
	if _, err := os.Lstat(s.path(token)); err == nil {
		return fmt.Sprintf("%q: the file exists; move it away, because it may be the secret of an earlier token", s.path(token))
	}
	return ""
}

// reserved is a file that has no secret yet. It has another name until the secret is on disk.
type reserved struct {
	cli.NewFile
	path string
}

// reserve creates the file of a token.
func (s *secrets) reserve(token string) (*reserved, error) {
	if s.dir == "" {
		return nil, errors.New(s.refusal(token, false))
	}
	err := os.MkdirAll(s.dir, 0o700)
	if err != nil {
		return nil, s.unwritable(err)
	}
	file, err := cli.CreateNewFile(s.dir, ".token-")
	if err != nil {
		return nil, s.unwritable(err)
	}
	return &reserved{file, s.path(token)}, nil
}

func (s *secrets) unwritable(err error) error {
	return fmt.Errorf("--secrets-dir %q: cannot be written (%w); choose another directory", s.dir, cli.Innermost(err))
}

// keep writes the secret and gives the file its name.
func (r *reserved) keep(secret string) error {
	err := r.Keep(r.path, secret+"\n")
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%q: the file exists", r.path)
	}
	if err != nil {
		return fmt.Errorf("%q: cannot be written (%w)", r.path, cli.Innermost(err))
	}
	return nil
}
