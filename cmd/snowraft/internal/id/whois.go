package id

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// NewWhoIs returns the command whois.
func NewWhoIs(a *cli.App) *cobra.Command {
	var (
		layout   string
		encoding snowflake.Encoding
	)
	cmd := &cobra.Command{
		Use:   "whois ID",
		Short: "Show which holder issued an ID",
		Long: `Show which holder issued an ID: the holder that was granted the worker and the time
in the ID. The cluster keeps a bounded history of grants, and the command fails for
an ID that is older. An ID of the past of a layout has a backfill job instead. ID may be a UUID of "snowraft id --uuid".

The states are those of "snowraft worker list", and superseded: the worker was granted
again later.`,
		Example: `  snowraft whois 132271570944028672
  snowraft whois Jos2sncHm1 --encoding base58 -o json
  snowraft whois 019b76da-a800-701c-8000-3f3a1d4c5b6e`,
	}
	a.AddLayoutFlag(cmd, &layout)
	cli.AddFlag(cmd, "", "encoding", "", cli.EncodingValue(&encoding), "encoding of the ID: "+cli.Either(cli.EncodingNames()))
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		text := given{encoding: encoding, layout: inCluster(ctx, r, layout)}
		if cmd.Flags().Changed("encoding") {
			text.explicit = "encoding"
		}
		id, uuid, err := text.id(args[0])
		if err != nil {
			return err
		}
		signed, err := asked(id)
		if err != nil {
			return err
		}
		resp, err := r.IDs.WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: signed, Layout: layout})
		if err != nil {
			return err
		}
		if b := resp.GetBackfill(); b != nil {
			return out.Answer(resp, cli.Record(
				"UUID", uuid,
				"ID", id,
				"Layout", layout,
				"Backfill job", b.GetJob(),
				"Holder", b.GetHolder(),
				"Started", cli.Stamp(b.GetCreatedAtMs()),
			))
		}
		g := resp.GetGrant()
		return out.Answer(resp, cli.Record(
			"UUID", uuid,
			"ID", id,
			"Layout", layout,
			"Holder", cli.Holder(g),
			"Process", cli.Process(g),
			"Worker", g.GetWorker(),
			"State", cli.Word(g.GetState()),
			"Fencing token", g.GetToken(),
			"Granted", cli.Stamp(g.GetFromAtMs())+" until "+cli.Stamp(g.GetUntilAtMs()),
			"Ticks", fmt.Sprintf("%d until %d", g.GetFromTick(), g.GetUntilTick()),
		))
	})
}
