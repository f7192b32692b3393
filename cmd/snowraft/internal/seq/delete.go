package seq

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newDelete(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a sequence",
		Long: `Deletes a sequence. What it gave out is remembered, so that one that is created
under its name later does not repeat it by accident (see "snowraft seq create").`,
		Example: `  snowraft seq delete orders`,
		Args:    Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: args[0]})
		if err != nil {
			return err
		}
		warnUnreached(a, resp.GetUnreachedMembers(), oldBlocks)
		doc := struct {
			Name      string   `json:"name"`
			Unreached []string `json:"unreached_members"`
		}{args[0], append([]string{}, resp.GetUnreachedMembers()...)}
		return out.Answer(doc, cli.Line("deleted %s", doc.Name))
	})
}
