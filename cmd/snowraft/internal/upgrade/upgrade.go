// Package upgrade has the commands that finalize an upgrade of all members, below the command that
// [New] returns.
package upgrade

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command upgrade.
func New(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Show and finalize an upgrade of the members",
		Long: `Show whether an upgrade is finalized, and which commands of the Raft log each member
knows. A cluster uses newer commands only after the upgrade is finalized. Until then,
you can still downgrade each member to its previous version.

The leader finalizes an upgrade once all members have been alive and known the newer
commands for an hour. With "snowraft config set --upgrades manual" it does not.`,
		Example: `  snowraft upgrade
  snowraft upgrade finalize`,
	}
	cmd.AddCommand(newFinalize(a))
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Operations.GetUpgrade(ctx, &snowraftv1.GetUpgradeRequest{})
		if err != nil {
			return err
		}
		return out.Answer(resp, record(resp.GetUpgrade()), members(resp))
	})
}

func record(u *snowraftv1.Upgrade) cli.Block {
	to := ""
	if u.GetNextFsmVersion() > u.GetFsmVersion() {
		to = cli.Decimal(uint64(u.GetNextFsmVersion()))
	}
	return cli.Record(
		"Commands in use", u.GetFsmVersion(),
		"Finalizing allows", to,
		"Upgrade", cli.Upgrade(u),
	)
}

func members(resp *snowraftv1.GetUpgradeResponse) cli.Block {
	problems := make(map[string]string)
	for _, b := range resp.GetUpgrade().GetBlockers() {
		problems[b.GetMemberId()] = b.GetProblem()
	}
	heading := []string{"NAME", "ROLE", "VERSION", "COMMANDS", "BLOCKS", "ID"}
	return cli.Table(resp.GetMembers(), heading, func(m *snowraftv1.Member) []any {
		commands := ""
		if known := m.GetFsmVersionSupported(); known != 0 {
			commands = cli.Decimal(uint64(known))
		}
		return []any{m.GetName(), cli.Role(m), m.GetVersion(), commands, problems[m.GetId()], m.GetId()}
	})
}
