// Package bench has the commands that measure a cluster.
package bench

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command bench.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "bench",
		Short: "Measure a cluster, and check that what it gives out is unique",
		Long: `Asks members for IDs or numbers from many clients at once, and prints how many
came, how long calls took, what failed, and whether anything came twice. What is
asked for is given out: measure with sequences that nobody counts on.

Without --rate, each client makes one call after the other. This is the closed
loop: it finds the most that there is, but its latencies flatter, as a member that
stalls is asked for nothing meanwhile. With --rate, calls are due at fixed times,
and latency counts from when a call was due.`,
		Example: `  snowraft bench ids
  snowraft bench seq orders --clients 1000 --rate 20000 --duration 1m`,
	}, newIDs(a), newSeq(a), newEmbedded(a), newRedis(a), newHTTP(a))
}
