package backup

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup/archive"
)

// Listed is the document of a scheduled backup in a list. Its values are those of the name, which the content may contradict.
type Listed struct {
	File      string `json:"file"`
	Cluster   string `json:"clusterId"`
	Index     uint64 `json:"index,string"`
	Term      uint64 `json:"term,string"`
	TakenAtMS int64  `json:"takenAtMs,string"`
	Bytes     int64  `json:"bytes,string"`
}

func newList(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list DIR|URL",
		Short: "List scheduled backups",
		Long: `List the scheduled backups in a directory or at an s3:// URL, by their names, the latest
state of each cluster first. The command needs no cluster and reads no backup; "snowraft
backup inspect" verifies one.`,
		Example: `  snowraft backup list s3://backups/ids
  snowraft backup list /mnt/backups -o json`,
	}
	return a.Command(cmd, func(ctx context.Context, out *cli.Printer, args []string) error {
		p, err := archive.At(args[0])
		if err != nil {
			return cli.Usagef("DIR|URL: %v", err)
		}
		all, err := p.List(ctx, "")
		if err != nil {
			return cli.Unreadable("DIR|URL", err)
		}
		slices.SortFunc(all, func(a, b archive.Entry) int {
			return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), b.Compare(a.Name))
		})
		doc := struct {
			Backups []Listed `json:"backups"`
		}{cli.Map(func(e archive.Entry) Listed {
			return Listed{File: p.String() + "/" + e.String(), Cluster: e.Cluster, Index: e.Index, Term: e.Term, TakenAtMS: e.TakenAtMillis, Bytes: e.Bytes}
		}, all)}
		return out.Answer(doc, cli.Table(doc.Backups, []string{"CLUSTER", "INDEX", "TERM", "TAKEN AT", "BYTES", "FILE"}, func(l Listed) []any {
			return []any{l.Cluster, l.Index, l.Term, cli.Stamp(l.TakenAtMS), l.Bytes, l.File}
		}))
	})
}
