package seq

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newCreate(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a sequence",
		Long: `Creates a sequence. Creating the same one again does nothing; another one under a
name that is taken is refused.

What a deleted sequence gave out is remembered. Creating one of its name that
would give out the same numbers again is refused unless --force is given: choose
a --start beyond them instead.

Names have 1 to 128 bytes of printable UTF-8 without spaces; case matters.`,
		Example: `  snowraft seq create orders
  snowraft seq create invoices --mode strict --reset yearly --time-zone Europe/Berlin --format 'INV-{date:yyyy}-{seq:06}'
  snowraft seq create shop/east --start 1 --increment 2
  snowraft seq create countdown --start 10 --increment -1 --min 0`,
		Args: Args(),
	}
	f := addSpecFlags(cmd, false)
	cmd.Flags().BoolVar(&force, "force", false, "create it even if numbers of a deleted sequence of this name repeat")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		spec, _ := f.sequence(args[0], cmd.Flags())
		resp, err := r.Sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: spec, Force: force})
		if err != nil {
			return err
		}
		warnUnreached(a, resp.GetUnreachedMembers(), "they may not know the sequence yet")
		return printChanged(out, "created", resp.GetSequence(), resp.GetUnreachedMembers())
	})
}
