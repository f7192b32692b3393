package seq

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newDecode(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "decode NAME TEXT...",
		Short: "Decode texts of a sequence into their numbers",
		Long: `Decode texts of a sequence, such as voucher codes, into their numbers and periods. The
command also decodes texts of earlier formats, and those of a deleted sequence.

A text that no format of the sequence writes fails. The error says which part is wrong, such
as the check digit. The state of a number says whether the cluster granted it: each code of
the right form has a number, also if the number was never issued.

In a cluster with a secret, the command needs the right seq:decode.`,
		Example: `  snowraft seq decode vouchers V-7K2M9QXA
  snowraft seq decode vouchers V-7K2M9QXA V-0C3FHT81 -o json
  snowraft seq decode totals -- -12
  xargs snowraft seq decode vouchers <codes.txt`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		texts := args[1:]
		all := make([]*snowraftv1.DecodeTextResponse, len(texts))
		for i, text := range texts {
			resp, err := r.Sequences.DecodeText(ctx, &snowraftv1.DecodeTextRequest{Sequence: args[0], Text: text})
			if err != nil && len(texts) > 1 {
				err = fmt.Errorf("TEXT %d: %w", i+1, err)
			}
			if err != nil {
				return err
			}
			all[i] = resp
		}
		for _, d := range all {
			if d.GetState() == snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED {
				a.Warn("%s: the number %d was not issued", d.GetText(), d.GetNumber())
			}
		}
		return cli.AnswerEach(out, all, func(d *snowraftv1.DecodeTextResponse) cli.Block {
			return cli.Record(
				"Text", d.GetText(),
				"Number", d.GetNumber(),
				"Period", cli.TextIf(d.GetPeriod() != "", "since %s", d.GetPeriod()),
				"Format", d.GetFormat(),
				"State", cli.Word(d.GetState()),
				"Deleted", cli.TextIf(d.GetDeleted(), "yes"),
			)
		}, []string{"TEXT", "NUMBER", "PERIOD", "FORMAT", "STATE"}, func(d *snowraftv1.DecodeTextResponse) []any {
			return []any{d.GetText(), d.GetNumber(), d.GetPeriod(), d.GetFormat(), cli.Word(d.GetState())}
		})
	})
}
