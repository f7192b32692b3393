package seq

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newGet(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "get NAME",
		Short: "Show a sequence",
		Long: `Shows a sequence, as the member that is asked knows it.

Next is the first number that was not granted. Blocks of numbers are granted at
once, to the members or to the leader, so that it is mostly greater than the next
number that is given out; "snowraft seq last" tells what was given out. Remaining
is how many numbers are left in this period. The generation grows with each change.`,
		Example: `  snowraft seq get orders
  snowraft seq get orders -o json`,
		Args: Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
		if err != nil {
			return err
		}
		d := newSequenceDoc(resp.GetSequence())
		return out.Answer(d, d.record())
	})
}
