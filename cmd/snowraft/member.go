package main

import (
	"context"

	"github.com/spf13/cobra"

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
		ID: m.GetId(), Name: m.GetName(), Address: m.GetAddress(), APIAddress: m.GetApiAddress(),
		Role: enumName(m.GetRole().String(), "MEMBER_ROLE_"), Leader: m.GetLeader(), Alive: m.GetAlive(),
		ClockOffsetMS: m.GetClockOffsetMs(), Version: m.GetVersion(),
	}
}

func (a *app) memberCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "member",
		Short: "List, add and remove members",
		Long: `Members are the voters and nonvoters of the cluster. A new member joins as a
nonvoter and becomes a voter by itself once it has caught up.`,
		Example: `  snowraft member list
  snowraft member remove c`,
	}, a.memberListCommand(), a.memberAddCommand(), a.memberRemoveCommand())
}

func (a *app) memberListCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "list",
		Short: "List the members",
		Long: `Lists the members of the cluster: which of them leads, whether gossip hears of
them, and how far their clocks are from that of the member that answers.`,
		Example: `  snowraft member list
  snowraft member list -o json`,
		Args: arguments(),
	}, func(ctx context.Context, r *remote, _ []string) error {
		resp, err := r.cluster().ListMembers(ctx, &snowraftv1.ListMembersRequest{})
		if err != nil {
			return err
		}
		doc := struct {
			Members []memberDoc `json:"members"`
		}{Members: []memberDoc{}}
		for _, m := range resp.GetMembers() {
			doc.Members = append(doc.Members, newMemberDoc(m))
		}
		return r.out.answer(doc, table(doc.Members, memberColumns()...))
	})
}

func memberColumns() []column[memberDoc] {
	choose := func(yes bool, if1, if0 string) string {
		if yes {
			return if1
		}
		return if0
	}
	return []column[memberDoc]{
		{"NAME", func(m memberDoc) string { return m.Name }},
		{"ROLE", func(m memberDoc) string { return m.Role + choose(m.Leader, ", leader", "") }},
		{"ALIVE", func(m memberDoc) string { return choose(m.Alive, "yes", "no") }},
		{"API", func(m memberDoc) string { return m.APIAddress }},
		{"RAFT", func(m memberDoc) string { return m.Address }},
		{"CLOCK", func(m memberDoc) string { return offset(m.ClockOffsetMS) }},
		{"VERSION", func(m memberDoc) string { return m.Version }},
		{"ID", func(m memberDoc) string { return m.ID }},
	}
}

func (a *app) memberAddCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "add GOSSIP-ADDR",
		Short: "Add a member that waits to be added",
		Long: `Makes the cluster contact a member that was started with --bootstrap-expect 0 and
no --join, at its gossip address, and waits until it is a member.`,
		Example: `  snowraft member add 10.0.0.4:7703`,
		Args:    arguments("GOSSIP-ADDR"),
	}, func(ctx context.Context, r *remote, args []string) error {
		if !isPeer(args[0]) {
			return usagef("GOSSIP-ADDR %q: expected host:port, such as 10.0.0.4:7703", args[0])
		}
		resp, err := r.cluster().AddMember(ctx, &snowraftv1.AddMemberRequest{Address: args[0]})
		if err != nil {
			return err
		}
		return r.out.member("added", resp.GetMember())
	})
}

func (a *app) memberRemoveCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove NAME|ID",
		Short: "Remove a member for ever",
		Long: `Removes a member from the cluster for ever: it can only come back with an empty
data directory, as a new member. Use it for a member that is lost; one that runs
can leave by itself (see "snowraft leave").

A removal after which no majority of the voters would be alive is refused unless
--force is given.`,
		Example: `  snowraft member remove c
  snowraft member remove 7a1f6c1e-8f0e-4c1b-9d0a-0d5c3a3f9b11 --force`,
		Args: arguments("NAME|ID"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if no majority of the voters would be alive")
	return a.client(cmd, func(ctx context.Context, r *remote, args []string) error {
		resp, err := r.cluster().RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: args[0], Force: force})
		if err != nil {
			return err
		}
		return r.out.member("removed", resp.GetMember())
	})
}

// member prints what became of one member.
func (p *printer) member(done string, m *snowraftv1.Member) error {
	doc := struct {
		Member memberDoc `json:"member"`
	}{newMemberDoc(m)}
	return p.answer(doc, line("%s %s (%s), %s", done, doc.Member.Name, doc.Member.ID, doc.Member.Role))
}
