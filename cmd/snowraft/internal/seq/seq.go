// Package seq has the commands of sequences.
package seq

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command seq.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "seq",
		Short: "Give out plain numbers, by name",
		Long: `A sequence is a named counter: plain, small numbers, one after the other, as on
invoices. In relaxed mode every member numbers from blocks in its memory; in
strict mode the leader does, each number greater than all that were answered
before. Either way no number is given out twice.`,
		Example: `  snowraft seq create orders
  snowraft seq next orders -n 3
  snowraft seq create invoices --mode strict --reset yearly --time-zone Europe/Berlin --format 'INV-{date:yyyy}-{seq:06}'`,
	},
		newCreate(a), newGet(a), newList(a), newUpdate(a),
		newDelete(a), newNext(a), newSet(a), newLast(a))
}
