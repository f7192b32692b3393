package worker

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

func newClaim(a *cli.App) *cobra.Command {
	var dir string
	var p places
	cmd := &cobra.Command{
		Use:   "claim COMMAND [ARGUMENT]...",
		Short: "Run a process of a forking server with a worker of its own",
		Long: `Run a process of a forking server with a worker of its own. The server runs under worker
run --count N --dir DIRECTORY, which writes a file for each worker. This command locks a
file that no process has locked, waits until the clock has passed all IDs of the last
process that had it, and becomes the command. The lock ends with the command and all
its children that keep the open file. Without a free file, it waits. Linux only.`,
		Example: `  snowraft worker run --count 4 --dir /run/app/workers -- ./server
  snowraft worker claim --dir /run/app/workers --env-worker WORKER -- ./process`,
		Args: someCommand,
	}
	cmd.Flags().SetInterspersed(false)
	cli.AddFlag(cmd, "Worker", "dir", "", cli.TextValue(&dir, "DIRECTORY"), "directory with the files of worker run --dir")
	addPlaces(cmd, &p)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Resolve(cmd.Flags(), a.Env, nil); err != nil {
			return err
		}
		if dir == "" {
			return cli.Usagef("claim needs --dir, the directory of worker run --dir")
		}
		return claim(cmd.Context(), a, dir, p, args)
	}
	return cmd
}
