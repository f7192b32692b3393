package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "list",
		Short: "List the members",
		Long: `Lists the members of the cluster: which of them leads, whether gossip hears of
them, and how far their clocks are from that of the member that answers.`,
		Example: `  snowraft member list
  snowraft member list -o json`,
		Args: cli.Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
		if err != nil {
			return err
		}
		doc := struct {
			Members []memberDoc `json:"members"`
		}{Members: []memberDoc{}}
		for _, m := range resp.GetMembers() {
			doc.Members = append(doc.Members, newMemberDoc(m))
		}
		return out.Answer(doc, cli.Table(doc.Members, columns()...))
	})
}

func columns() []cli.TableColumn[memberDoc] {
	choose := func(yes bool, if1, if0 string) string {
		if yes {
			return if1
		}
		return if0
	}
	return []cli.TableColumn[memberDoc]{
		cli.Column("NAME", func(m memberDoc) string { return m.Name }),
		cli.Column("ROLE", func(m memberDoc) string { return m.Role + choose(m.Leader, ", leader", "") }),
		cli.Column("ALIVE", func(m memberDoc) string { return choose(m.Alive, "yes", "no") }),
		cli.Column("API", func(m memberDoc) string { return m.APIAddress }),
		cli.Column("RAFT", func(m memberDoc) string { return m.Address }),
		cli.Column("CLOCK", func(m memberDoc) string { return cli.Offset(m.ClockOffsetMS) }),
		cli.Column("VERSION", func(m memberDoc) string { return m.Version }),
		cli.Column("ID", func(m memberDoc) string { return m.ID }),
	}
}
