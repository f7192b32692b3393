// Package backup has the commands for backups, below the command that [New] returns.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command backup.
func New(a *cli.App) *cobra.Command {
	var (
		stale bool
		dir   string
	)
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the cluster",
		Long: `Write a backup of the cluster's state to a new file: layouts, workers, sequences, the
configuration and hashes of tokens. The backup includes every change that was
acknowledged before the command started. It contains the secret from which the keys of
sequences' codes are derived, and no other; keep a copy of the secret file elsewhere.

Without a leader, --stale takes the state of the member that answers, and --data-dir that
of a stopped member, with the whole log. A restored cluster repeats nothing, however old
the backup is (see "snowraft restore").`,
		Example: `  snowraft backup snowraft-2026-11-23.backup
  snowraft backup survivor.backup --data-dir /var/lib/snowraft
  snowraft backup inspect *.backup`,
	}
	cmd.Flags().BoolVar(&stale, "stale", false, "take the state of the member that answers, without a leader; later changes may be missing")
	cli.AddFlag(cmd, "", dirFlag, "", cli.TextValue(&dir, "DIR"), "data directory of a stopped member to read, instead of calling a running one")
	cmd.AddCommand(newInspect(a), newList(a))
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if stale && dir != "" {
			return cli.Usagef("--stale cannot be combined with --%s", dirFlag)
		}
		write := func(f *os.File) error { return download(ctx, a, r, stale, f) }
		if dir != "" {
			write = func(f *os.File) error {
				b, err := backup.OpenDirectory(dir, a.Now().UnixMilli())
				if errors.Is(err, os.ErrNotExist) {
					return cli.Usagef("--%s %q: not the data directory of a member; choose another directory", dirFlag, dir)
				}
				if err != nil {
					return err
				}
				return backup.Write(f, b.Header, b.State)
			}
		}
		var taken Summary
		err := backup.Create(args[0], func(f *os.File) error {
			if err := write(f); err != nil {
				return err
			}
			size, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return err
			}
			b, err := backup.Read(f, size, fsm.Version)
			if err == nil {
				taken = summarize(args[0], b)
			}
			return err
		})
		if err != nil {
			return cli.Unwritable("FILE", args[0], err)
		}
		return out.Answer(taken, cli.Line("wrote backup %q of cluster %s; index: %d, sequences: %d, bytes: %d",
			args[0], taken.Cluster, taken.Index, taken.Sequences, taken.Bytes))
	})
}

const dirFlag = "data-dir"

// download writes the backup that a member sends to f. It fails if the member sends nothing for the timeout of calls.
func download(ctx context.Context, a *cli.App, r *cli.Remote, stale bool, f *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(r.Timeout, cancel)
	defer idle.Stop()
	stream, err := r.Operations.Backup(ctx, &snowraftv1.BackupRequest{Stale: stale})
	if err != nil {
		return err
	}
	progress := progress{app: a, next: a.Now().Add(progressEvery)}
	for {
		piece, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil:
			return cli.Exit(cli.ExitRepeatable, fmt.Errorf("the member sent nothing for %v; try another member, or set --timeout", r.Timeout))
		case err != nil && !stale && rpc.FromError(err).Reason == rpc.NoLeader:
			return fmt.Errorf("%w; for the state of one member without a leader, use --stale", err)
		case err != nil:
			return err
		}
		idle.Reset(r.Timeout)
		n, err := f.Write(piece.GetData())
		if err != nil {
			return err
		}
		progress.add(n)
	}
}

// progressEvery is the interval between lines of progress.
const progressEvery = 2 * time.Second

// progress prints the size of a long download, at most once per progressEvery.
type progress struct {
	app   *cli.App
	bytes int64
	next  time.Time
}

func (p *progress) add(n int) {
	p.bytes += int64(n)
	if now := p.app.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		fmt.Fprintf(p.app.Stderr, "snowraft: received %d MiB\n", p.bytes>>20)
	}
}
