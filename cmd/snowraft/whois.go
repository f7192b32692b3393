package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// issuerDoc is who was granted the cell that an ID lies in.
type issuerDoc struct {
	ID     uint64 `json:"id,string"`
	Layout string `json:"layout"`
	grantDoc
}

func (a *app) whoisCommand() *cobra.Command {
	var (
		layout   string
		encoding snowflake.Encoding
	)
	cmd := &cobra.Command{
		Use:   "whois ID",
		Short: "Tell who issued an ID",
		Long: `Tells which holder was granted the worker and the time of an ID, so who alone can
have issued it. The cluster remembers a bounded history of grants: an ID that is
older than that has no answer.`,
		Example: `  snowraft whois 132271570944028672
  snowraft whois Jos2sncHm1 --encoding base58 -o json`,
		Args: arguments("ID"),
	}
	addLayoutFlag(cmd, &layout)
	addFlag(cmd, "", "encoding", "", encodingValue(&encoding), "how the ID is written: "+either(encodingNames()))
	return a.client(cmd, func(ctx context.Context, r *remote, args []string) error {
		id, err := encoding.Decode(args[0])
		if err != nil {
			return usagef("%s", plain(err))
		}
		resp, err := r.ids().WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: id, Layout: layout})
		if err != nil {
			return err
		}
		d := issuerDoc{ID: id, Layout: layout, grantDoc: newGrantDoc(resp.GetGrant())}
		return r.out.answer(d, record(
			pair{"ID", decimal(id)},
			pair{"Layout", d.Layout},
			pair{"Holder", d.Holder},
			pair{"Nonce", d.Nonce},
			pair{"Worker", decimal(d.Worker)},
			pair{"State", d.State},
			pair{"Token", decimal(d.Token)},
			pair{"Granted", d.FromTime + " until " + d.UntilTime},
			pair{"Ticks", fmt.Sprintf("%d until %d", d.From, d.Until)},
		))
	})
}
