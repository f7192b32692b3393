// Package member has the commands for members, below the command that [New] returns.
package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command member.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "member",
		Short: "List, add and remove members, or make one leave",
		Long: `List, add and remove members, or make one leave. Members are the voters and nonvoters
of the cluster. A new member joins as a nonvoter. The leader promotes it to voter once
it has been healthy for --promote-after (30 s), unless it was started with --nonvoter.`,
		Example: `  snowraft member list
  snowraft member remove c`,
	}, newList(a), newAdd(a), newRemove(a), newLeave(a))
}

// printChange prints the member in a response after done, the change in the past tense.
func printChange(p *cli.Printer, done string, resp interface{ GetMember() *snowraftv1.Member }) error {
	m := resp.GetMember()
	if m.GetName() == "" { // removed before
		return p.Answer(resp, cli.Line("%s member %q", done, m.GetId()))
	}
	blocks := []cli.Block{cli.Line("%s member %q (%s); ID: %s", done, m.GetName(), cli.Word(m.GetRole()), m.GetId())}
	if left, ok := resp.(interface{ GetQuorum() *snowraftv1.Quorum }); ok {
		blocks = append(blocks, voters(left.GetQuorum())...)
	}
	return p.Answer(resp, blocks...)
}

// voters returns the line about the voters, or nothing if they are not known.
func voters(q *snowraftv1.Quorum) []cli.Block {
	if text := cli.Voters(q); text != "" {
		return []cli.Block{cli.Line("Voters: %s", text)}
	}
	return nil
}

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "list",
		Short: "List the members",
		Long: `List the members of the cluster, and show how many failures of voters the cluster
tolerates. ALIVE shows whether gossip of the answering member reaches each member, or since
when it does not. A voter that does not replicate counts as failed. CLOCK is their offset
from the answering member's clock.`,
		Example: `  snowraft member list
  snowraft member list -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
		if err != nil {
			return err
		}
		heading := []string{"NAME", "ROLE", "ALIVE", "API", "RAFT", "CLOCK", "VERSION", "ID"}
		members := cli.Table(resp.GetMembers(), heading, func(m *snowraftv1.Member) []any {
			alive := "no, since " + cli.StampKnown(m.GetNotAliveSinceAtMs())
			switch {
			case m.GetStalled():
				alive = "yes, but does not replicate"
			case m.GetAlive():
				alive = "yes"
			}
			return []any{m.GetName(), cli.Role(m), alive, m.GetApiAddress(), m.GetRaftAddress(), cli.Offset(m.GetClockOffsetMs()), m.GetVersion(), m.GetId()}
		})
		return out.Answer(resp, append([]cli.Block{members}, voters(resp.GetQuorum())...)...)
	})
}

func newAdd(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "add GOSSIP-ADDR",
		Short: "Add a waiting member to the cluster",
		Long: `Add a waiting member to the cluster and wait until it has joined. The member was
started with --bootstrap-expect 0 and without --join; the cluster contacts it at
GOSSIP-ADDR.`,
		Example: `  snowraft member add 10.0.0.4:7703`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if !cli.IsPeer(args[0]) {
			return cli.Usagef("GOSSIP-ADDR %q: expected host:port, such as 10.0.0.4:7703", args[0])
		}
		resp, err := r.Cluster.AddMember(ctx, &snowraftv1.AddMemberRequest{GossipAddress: args[0]})
		if err != nil {
			return err
		}
		return printChange(out, "added", resp)
	})
}

func newRemove(a *cli.App) *cobra.Command {
	var force, ifExists bool
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Members),

		Use:   "remove NAME|ID",
		Short: "Remove a member permanently",
		Long: `Remove a member from the cluster permanently: it can only return as a new member,
with an empty data directory. Use this for a member that is lost. Use "snowraft
member leave" for a running member: only that releases its workers, returns its
numbers and passes leadership on without a pause.

The leader rejects a removal after which fewer than a majority of the voters would
be alive, unless --force is given. With --if-exists, the command can be repeated.`,
		Example: `  snowraft member remove c
  snowraft member remove 7a1f6c1e-8f0e-4c1b-9d0a-0d5c3a3f9b11 --force`,
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove the member even if quorum would be lost")
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "succeed if the cluster has no such member")
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if args[0] == "" { // unset variable of a script
			return cli.Usagef("member name: must not be empty; name the member to remove")
		}
		suggestLeave(ctx, a, r, args[0])
		if err := ask("Remove the member %q permanently?", args[0]); err != nil {
			return err
		}
		resp, err := r.Cluster.RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: args[0], Force: force})
		if ifExists && err != nil && rpc.FromError(err).Reason == rpc.UnknownMember {
			return out.Answer(&snowraftv1.RemoveMemberResponse{}, cli.Line("no member %q; nothing to remove", args[0]))
		}
		if err != nil {
			return err
		}
		return printChange(out, "removed", resp)
	})
}

// suggestLeave warns if the member to remove is alive, because a removed member stops without releasing anything.
func suggestLeave(ctx context.Context, a *cli.App, r *cli.Remote, nameOrID string) {
	resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return // the removal reports it, or needs no list
	}
	for _, m := range resp.GetMembers() {
		if m.GetAlive() && (m.GetName() == nameOrID || m.GetId() == nameOrID) {
			a.Warn("%s is alive; to release its workers and return its numbers, use \"snowraft member leave --addr %s\" instead",
				m.GetName(), m.GetApiAddress())
			return
		}
	}
}

func newLeave(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Make a member leave the cluster and shut down",
		Long: `Make the member at --addr leave the cluster permanently and shut down. --addr must
name exactly one address, because the command concerns that member alone.

To stop a member for a while, send SIGTERM to its process instead: a stopped
member stays in the cluster.`,
		Example: `  snowraft member leave --addr 10.0.0.3:7700`,
	}
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if len(r.Addresses) != 1 {
			return cli.Usagef("--addr must name exactly one address: the member to remove")
		}
		if err := ask("Make the member at %s leave the cluster permanently?", r.Addresses[0]); err != nil {
			return err
		}
		resp, err := r.Cluster.Leave(ctx, &snowraftv1.LeaveRequest{})
		if err != nil {
			return err
		}
		return out.Answer(resp, append([]cli.Block{cli.Line("removed member at %s from the cluster; it is shutting down", r.Addresses[0])}, voters(resp.GetQuorum())...)...)
	})
}
