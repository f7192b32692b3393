// Package leader has the commands of leadership.
package leader

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// leaderDoc is the leader as it is printed.
type leaderDoc struct {
	ID   string `json:"leader_id"`
	Name string `json:"leader_name"`
}

// New returns the command leader.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "leader",
		Short: "Show and move the leadership",
		Long: `The leader orders what the cluster agrees on. Issuing IDs does not need it, so
moving the leadership interrupts nothing.`,
		Example: `  snowraft leader show
  snowraft leader transfer b`,
	}, newShow(a), newTransfer(a))
}

// show prints the leader.
func show(p *cli.Printer, id, name string) error {
	return p.Answer(leaderDoc{ID: id, Name: name}, cli.Line("%s leads (%s)", name, id))
}
