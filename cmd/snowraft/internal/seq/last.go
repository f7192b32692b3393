package seq

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newLast(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "last NAME",
		Short: "Tell the last number that was given out",
		Long: `Tells the last number of a sequence that was given out: of a strict sequence the
last of all, linearizably; of a relaxed one the last of the member that is asked,
as others number on their own. Before the first number it is "none" (null in JSON).`,
		Example: `  snowraft seq last orders
  snowraft seq last orders -o json`,
		Args: Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: args[0]})
		if err != nil {
			return err
		}
		doc := struct {
			Sequence string `json:"sequence"`
			Last     *int64 `json:"last,string"`
		}{args[0], resp.Last}
		text := "none"
		if doc.Last != nil {
			text = strconv.FormatInt(*doc.Last, 10)
		}
		return out.Answer(doc, cli.Line("%s", text))
	})
}
