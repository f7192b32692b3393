// Package secret has the commands for cluster secrets, below the command that [New] returns.
package secret

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/trust"
)

// New returns the command secret.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "secret",
		Short: "Manage the cluster secret",
		Long: `Manage the cluster secret, by which members trust each other. Every member of a secured cluster
starts with the same secret file ("snowraft serve --secret-file"). A process that has
the file is part of the cluster and its admin, so protect the file like a password.`,
		Example: `  snowraft secret create --out secret
  snowraft secret list --secret-file secret
  snowraft secret ca --secret-file secret > ca.pem`,
	}, newCreate(a), newList(a), newCA(a))
}

const fileFlag = "secret-file"

// open returns the secrets of the file.
func open(path string) (*trust.Keys, error) {
	keys, err := trust.OpenKeys(path)
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return keys, nil
}
