// Package member has the commands of members: member and leave.
package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// memberDoc is a member as it is printed.
type memberDoc struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	APIAddress    string `json:"api_address"`
	Role          string `json:"role"`
	Leader        bool   `json:"leader"`
	Alive         bool   `json:"alive"`
	ClockOffsetMS int64  `json:"clock_offset_ms,string"`
	Version       string `json:"version"`
}

func newMemberDoc(m *snowraftv1.Member) memberDoc {
	return memberDoc{
		ID: m.GetId(), Name: m.GetName(), Address: m.GetRaftAddress(), APIAddress: m.GetApiAddress(),
		Role: cli.EnumName(m.GetRole().String(), "MEMBER_ROLE_"), Leader: m.GetLeader(), Alive: m.GetAlive(),
		ClockOffsetMS: m.GetClockOffsetMs(), Version: m.GetVersion(),
	}
}

// New returns the command member.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "member",
		Short: "List, add and remove members",
		Long: `Members are the voters and nonvoters of the cluster. A new member joins as a
nonvoter and becomes a voter by itself once it has caught up.`,
		Example: `  snowraft member list
  snowraft member remove c`,
	}, newList(a), newAdd(a), newRemove(a))
}

// printChange prints a member and what was done to it.
func printChange(p *cli.Printer, done string, m *snowraftv1.Member) error {
	d := newMemberDoc(m)
	return p.Answer(map[string]any{"member": d}, cli.Line("%s %s (%s), %s", done, d.Name, d.ID, d.Role))
}

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "list",
		Short: "List the members",
		Long: `Lists the members of the cluster: which of them leads, whether gossip hears of
them, and how far their clocks are from that of the member that answers.`,
		Example: `  snowraft member list
  snowraft member list -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
		if err != nil {
			return err
		}
		members := cli.Map(newMemberDoc, resp.GetMembers())
		heading := []string{"NAME", "ROLE", "ALIVE", "API", "RAFT", "CLOCK", "VERSION", "ID"}
		return out.Answer(map[string]any{"members": members}, cli.Table(members, heading, func(m memberDoc) []any {
			role, alive := m.Role, "no"
			if m.Leader {
				role += ", leader"
			}
			if m.Alive {
				alive = "yes"
			}
			return []any{m.Name, role, alive, m.APIAddress, m.Address, cli.Offset(m.ClockOffsetMS), m.Version, m.ID}
		}))
	})
}

func newAdd(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "add GOSSIP-ADDR",
		Short: "Add a member that waits to be added",
		Long: `Makes the cluster contact a member that was started with --bootstrap-expect 0 and
no --join, at its gossip address, and waits until it is a member.`,
		Example: `  snowraft member add 10.0.0.4:7703`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if !cli.IsPeer(args[0]) {
			return cli.Usagef("GOSSIP-ADDR %q: expected host:port, such as 10.0.0.4:7703", args[0])
		}
		resp, err := r.Cluster.AddMember(ctx, &snowraftv1.AddMemberRequest{GossipAddress: args[0]})
		if err != nil {
			return err
		}
		return printChange(out, "added", resp.GetMember())
	})
}

func newRemove(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove NAME|ID",
		Short: "Remove a member permanently",
		Long: `Removes a member from the cluster for ever: it can only come back with an empty
data directory, as a new member. Use it for a member that is lost; one that runs
can leave by itself (see "snowraft leave").

A removal after which no majority of the voters would be alive is refused unless
--force is given.`,
		Example: `  snowraft member remove c
  snowraft member remove 7a1f6c1e-8f0e-4c1b-9d0a-0d5c3a3f9b11 --force`,
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if no majority of the voters would be alive")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Cluster.RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: args[0], Force: force})
		if err != nil {
			return err
		}
		return printChange(out, "removed", resp.GetMember())
	})
}

// NewLeave returns the command leave.
func NewLeave(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "leave",
		Short: "Make a member leave the cluster and end",
		Long: `Makes the member at --addr leave the cluster for good and end. It takes exactly
one address, as it concerns that member alone.

To stop a member for a while, end its process with SIGTERM instead: that is not
a leave.`,
		Example: `  snowraft leave --addr 10.0.0.3:7700`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if len(r.Addresses) != 1 {
			return cli.Usagef("--addr: expected exactly one address, that of the member that shall leave")
		}
		if _, err := r.Cluster.Leave(ctx, &snowraftv1.LeaveRequest{}); err != nil {
			return err
		}
		address := r.Addresses[0]
		return out.Answer(map[string]any{"address": address}, cli.Line("the member at %s leaves the cluster", address))
	})
}
