// Command snowraft runs members of a Snowraft cluster, requests IDs from them, decodes
// IDs and operates the cluster.
//
// Results go to standard output, as text for people or, with -o json, as JSON for
// programs. Errors, in the same form, and logs go to standard error. The exit codes
// are those of "snowraft help exit-codes".
package main

import (
	"context"
	"os"

	// The periods of sequences follow the calendars of time zones. Many machines and most
	// container images have no time zone database, so the program includes one.
	_ "time/tzdata"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/serve"
)

func main() {
	os.Exit(run(context.Background(), serve.NewHost(cli.System(build().Version)), os.Args[1:]))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, h *serve.Host, args []string) int {
	return h.Run(ctx, newRoot(h), args)
}
