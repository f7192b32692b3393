package backup

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

func newInspect(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect " + Sources + "...",
		Short: "Verify and compare backups",
		Long: `Verify backups, and data directories of stopped members, and show the state in each. Of
a directory or an s3:// URL with scheduled backups, verify the latest.
LATEST marks the latest state of each cluster: restore that one. If members were set
back, restore the latest state of each of them together. The command reads every
byte, changes nothing and needs no cluster. It fails if a file is damaged.`,
		Example: `  snowraft backup inspect snowraft-2026-11-23.backup
  snowraft backup inspect /var/lib/snowraft old.backup -o json
  snowraft backup inspect s3://backups/ids`,
	}
	return a.Command(cmd, func(ctx context.Context, out *cli.Printer, args []string) error {
		all := make([]Summary, len(args))
		for i, path := range args {
			b, name, err := Open(ctx, a, path)
			if err != nil {
				return err
			}
			all[i] = summarize(name, b)
		}
		markLatest(all)
		doc := struct {
			Backups []Summary `json:"backups"`
		}{all}
		if len(all) == 1 {
			return out.Answer(doc, all[0].record())
		}
		heading := []string{"FILE", "CLUSTER", "INDEX", "TERM", "TAKEN AT", "SOURCE", "SEQUENCES", "LATEST"}
		return out.Answer(doc, cli.Table(all, heading, func(s Summary) []any {
			latest := ""
			if s.Latest {
				latest = "yes"
			}
			return []any{s.File, s.Cluster, s.Index, s.Term, cli.Stamp(s.TakenAtMS), s.Source, s.Sequences, latest}
		}))
	})
}

// markLatest marks the latest state of each cluster. It marks all of them if several are equally late.
func markLatest(all []Summary) {
	later := func(a, b Summary) int { return cmp.Or(cmp.Compare(a.Term, b.Term), cmp.Compare(a.Index, b.Index)) }
	for i := range all {
		all[i].Latest = !slices.ContainsFunc(all, func(o Summary) bool {
			return o.Cluster == all[i].Cluster && later(o, all[i]) > 0
		})
	}
}
