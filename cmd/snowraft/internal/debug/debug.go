// Package debug has the command that writes debug archives. [New] returns it.
package debug

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/server/diagnose"
)

const maxSeconds = 60

// Summary is the document of an archive: its last file, and the answer of the command.
type Summary struct {
	File      string   `json:"file,omitempty"` // path of the archive; omitted in the archive
	Bytes     int64    `json:"bytes,string,omitempty"`
	TakenAtMS int64    `json:"takenAtMs,string"`
	Version   string   `json:"version"` // version of the command
	Seconds   int      `json:"seconds"`
	Members   []Member `json:"members"`
}

// Member is a member of the cluster, in the summary of an archive.
type Member struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Directory string   `json:"directory,omitempty"` // directory in the archive
	Files     []string `json:"files"`
	Error     string   `json:"error,omitempty"` // reason for missing files
	addresses []string
	err       error
}

// New returns the command debug.
func New(a *cli.App) *cobra.Command {
	seconds := 5
	cmd := &cobra.Command{
		Use:   "debug FILE",
		Short: "Write a debug archive of all members",
		Long: `Write an archive for troubleshooting to a new file (tar.gz): from each member that can be
reached, its state, members, configuration and settings, metrics at two times, profiles
of CPU and memory, stacks, clocks, Raft statistics and disk usage. The command calls the
members in --addr, and all others at their API addresses. It warns of each member that it
cannot reach, and succeeds if one answers.

The archive contains no secret, no log, and no names of sequences, holders and tokens.
Names of members and layouts, and addresses, are included. The log of a member is in the
journal of its host or of its container.

For the data directory of a stopped member, use "snowraft backup inspect".`,
		Example: `  snowraft debug snowraft-debug.tar.gz
  snowraft debug slow.tar.gz --seconds 30 --addr 10.0.0.1:7700`,
	}
	cli.AddFlag(cmd, "", "seconds", "", cli.IntValue(&seconds, 1, maxSeconds), "duration of the CPU profile in seconds, and time between the two readings of metrics")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		s := &Summary{TakenAtMS: a.Now().UnixMilli(), Version: a.Version, Seconds: seconds, Members: []Member{}}
		return write(a, out, args[0], s, func(w *archive) error {
			g := gathering{app: a, remote: r, archive: w, duration: time.Duration(seconds) * time.Second, Summary: s}
			return g.run(ctx)
		})
	})
}

// write writes an archive that ends with the summary, and prints the summary.
func write(a *cli.App, out *cli.Printer, path string, s *Summary, fill func(*archive) error) error {
	err := backup.Create(path, func(f *os.File) error {
		w := newArchive(f, a.Now())
		if err := fill(w); err != nil {
			return err
		}
		if err := errors.Join(w.addJSON("program.json", diagnose.Program(a.Version)), w.addJSON("archive.json", s), w.close()); err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			s.File, s.Bytes = path, info.Size()
		}
		return err
	})
	if err != nil {
		return cli.Unwritable("FILE", path, err)
	}
	return out.Answer(s, cli.Line("wrote debug archive %q%s; bytes: %d", path, s.extent(), s.Bytes))
}

// extent describes the number of members in an archive.
func (s *Summary) extent() string {
	answered := 0
	for _, m := range s.Members {
		if m.Error == "" {
			answered++
		}
	}
	return fmt.Sprintf(" of %d of %d members", answered, len(s.Members))
}
