// Package member has the commands of members: member and leave.
package member

import (
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
		ID: m.GetId(), Name: m.GetName(), Address: m.GetAddress(), APIAddress: m.GetApiAddress(),
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
	doc := struct {
		Member memberDoc `json:"member"`
	}{newMemberDoc(m)}
	return p.Answer(doc, cli.Line("%s %s (%s), %s", done, doc.Member.Name, doc.Member.ID, doc.Member.Role))
}
