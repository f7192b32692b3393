// Package seq has the commands for sequences, below the command that [New] returns.
package seq

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command seq.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:        "seq",
		SuggestFor: []string{"sequence", "sequences"},
		Short:      "Issue increasing numbers by name",
		Long: `Issue increasing numbers by name. A sequence is a named counter of 64-bit numbers, such
as order numbers. Gaps are possible. In strict mode, the default, the leader issues the
numbers in one order. In relaxed mode, which is faster, every member issues them from
blocks in its memory. Neither mode issues a number twice.

In gapless mode, an application reserves a number under a key, and then confirms it or
makes it void with a reason, so that every number is accounted for.`,
		Example: `  snowraft seq create orders
  snowraft seq next orders -n 3
  snowraft seq create invoices --reset yearly --time-zone Europe/Berlin \
    --format 'INV-{date:yyyy}-{seq:06}'`,
	},
		newCreate(a), newGet(a), newList(a), newUpdate(a),
		newDelete(a), newNext(a), newSet(a), newLast(a), newDecode(a), newResume(a),
		newReserve(a), newConfirm(a), newVoid(a), newOpen(a), newAudit(a), newTake(a), newResolve(a))
}
