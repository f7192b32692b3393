package seq

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newList(a *cli.App) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sequences",
		Long: `Lists the sequences of the cluster in the order of their names: all of them, or
those whose names begin with --prefix. NEXT is the first number that was not
granted and REMAINING how many are left in this period.`,
		Example: `  snowraft seq list
  snowraft seq list --prefix shop/ -o json`,
		Args: cli.Args(),
	}
	flag := cli.AddFlag(cmd, "", "prefix", "", cli.WordsValue(&prefix, "TEXT"), "only sequences whose names begin like this")
	cmd = a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		doc := struct {
			Sequences []sequenceDoc `json:"sequences"`
		}{Sequences: []sequenceDoc{}}
		err := cli.Pages(func(token string) (string, error) {
			resp, err := r.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.PageSize, PageToken: token, Prefix: prefix})
			for _, s := range resp.GetSequences() {
				doc.Sequences = append(doc.Sequences, newSequenceDoc(s))
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return out.Answer(doc, cli.Table(doc.Sequences,
			cli.Column("NAME", func(d sequenceDoc) string { return d.Name }),
			cli.Column("MODE", func(d sequenceDoc) string { return d.Mode }),
			cli.Column("NEXT", sequenceDoc.next),
			cli.Column("INCREMENT", func(d sequenceDoc) string { return fmt.Sprint(d.Increment) }),
			cli.Column("REMAINING", func(d sequenceDoc) string { return cli.Decimal(d.Remaining) }),
			cli.Column("RESET", func(d sequenceDoc) string { return d.Reset }),
			cli.Column("PERIOD", func(d sequenceDoc) string { return d.Period }),
			cli.Column("FORMAT", func(d sequenceDoc) string { return d.Format }),
			cli.Column("DESCRIPTION", func(d sequenceDoc) string { return d.Description }),
		))
	})
	completeFlag(a, cmd, flag.Name)
	return cmd
}
