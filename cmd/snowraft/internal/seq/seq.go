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
		Short: "Issue consecutive numbers by name",
		Long: `Issue consecutive numbers by name. A sequence is a named counter of 64-bit numbers,
such as order numbers. In relaxed mode every member issues numbers from blocks in its
memory. In strict mode the leader issues them, each greater than all numbers returned
before. Neither mode issues a number twice.`,
		Example: `  snowraft seq create orders
  snowraft seq next orders -n 3
  snowraft seq create invoices --mode strict --reset yearly --time-zone Europe/Berlin --format 'INV-{date:yyyy}-{seq:06}'`,
	},
		newCreate(a), newGet(a), newList(a), newUpdate(a),
		newDelete(a), newNext(a), newSet(a), newLast(a))
}
