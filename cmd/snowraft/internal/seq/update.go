package seq

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newUpdate(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change a sequence",
		Long: `Changes what is given and leaves everything else as it is. An empty --format,
--description or --time-zone goes back to none, none and UTC; the word default
does so for --start, --increment, --min and --max.

The change reaches all live members before this returns, and they drop the blocks
that they hold: the rest of those is a gap. A change after which numbers would
repeat is refused unless --force is given: an increment of the other sign, or a
reset with a format that does not tell its periods apart.`,
		Example: `  snowraft seq update orders --format 'ORD{seq:08}'
  snowraft seq update orders --mode strict --description shop
  snowraft seq update orders --max default`,
		Args: Args(),
	}
	f := addSpecFlags(cmd, true)
	cmd.Flags().BoolVar(&force, "force", false, "change it even if numbers repeat")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		spec, mask := f.sequence(args[0], cmd.Flags())
		if len(mask) == 0 {
			return cli.Usagef("seq update: missing flag, expected what to change, such as --format or --max")
		}
		resp, err := r.Sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
			Sequence: spec, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, Force: force,
		})
		if err != nil {
			return err
		}
		warnUnreached(a, resp.GetUnreachedMembers(), oldBlocks)
		return printChanged(out, "changed", resp.GetSequence(), resp.GetUnreachedMembers())
	})
}
