package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/trust"
)

// Created is the JSON document of a new secret. It contains the secret itself only if no file was written.
type Created struct {
	Secret      string `json:"secret,omitempty"`
	File        string `json:"file,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

func newCreate(a *cli.App) *cobra.Command {
	out, ifMissing := "", false
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a cluster secret",
		Long: `Create a cluster secret: one line for the secret file of every member. The line goes
to standard output, or with --out to a new file that only its owner can read. A
redirection may make a file that others can read. With --if-missing, the command can
run at every start of a machine or container: it keeps the secret of an existing file.`,
		Example: `  snowraft secret create --out secret
  snowraft secret create --out secret --if-missing`,
	}
	cli.AddFlag(cmd, "", "out", "", cli.TextValue(&out, "FILE"), "new file for the secret, with mode 0600; an existing file is not overwritten")
	cli.AddFlag(cmd, "", "if-missing", "", cli.SwitchValue(&ifMissing), "succeed without a change if the file of --out has a secret").NoOptDefVal = "true"
	return a.Command(cmd, func(_ context.Context, p *cli.Printer, _ []string) error {
		if ifMissing {
			if out == "" {
				return cli.Usagef("--if-missing: cannot be used without --out")
			}
			if _, err := os.Lstat(out); err == nil {
				return showExisting(p, out)
			}
		}
		s := trust.NewSecret()
		if out == "" {
			return p.Answer(Created{Secret: s.Line(), Fingerprint: s.Fingerprint()}, cli.Line("%s", s.Line()))
		}
		if err := writeNew(out, s.Line()+"\n"); err != nil {
			return err
		}
		return p.Answer(Created{File: out, Fingerprint: s.Fingerprint()},
			cli.Line("created secret file %q; fingerprint: %s", out, s.Fingerprint()))
	})
}

// showExisting prints the secret of an existing file, which must be a secret file.
func showExisting(p *cli.Printer, path string) error {
	keys, err := open(path)
	if err != nil {
		return err
	}
	fingerprint := keys.Fingerprints()[0]
	return p.Answer(Created{File: path, Fingerprint: fingerprint}, cli.Line("kept secret file %q; fingerprint: %s", path, fingerprint))
}

// writeNew writes a file that must not exist, all of it or nothing, even if the process is killed: the content has its final name
// only when it is on disk.
func writeNew(path, content string) error {
	if _, err := os.Lstat(path); err == nil {
		return existing(path)
	}
	file, err := cli.CreateNewFile(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return unwritable(path, err)
	}
	defer file.Discard()
	if err := file.Keep(path, content); errors.Is(err, fs.ErrExist) {
		return existing(path)
	} else if err != nil {
		return unwritable(path, err)
	}
	return nil
}

// unwritable returns the error for a path, without the temporary name that err may have.
func unwritable(path string, err error) error {
	return fmt.Errorf("--out %q: cannot be written (%w); choose another file", path, cli.Innermost(err))
}

func existing(path string) error {
	return cli.Usagef("--out %q: the file exists; choose another name", path)
}
