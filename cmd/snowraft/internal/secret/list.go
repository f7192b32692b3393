package secret

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/trust"
)

// Known is one secret of the file.
type Known struct {
	Fingerprint string `json:"fingerprint"`
	Pin         string `json:"pin"`
}

func newList(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the secrets of a secret file",
		Long: `List the secrets of a secret file in its order, by fingerprint. Fingerprints contain
nothing secret; members show theirs in logs and in their status.`,
		Example: `  snowraft secret list --secret-file secret
  snowraft secret list --secret-file secret -o json`,
	}
	open := addFile(cmd)
	return a.Command(cmd, func(_ context.Context, p *cli.Printer, _ []string) error {
		keys, err := open()
		if err != nil {
			return err
		}
		doc := struct {
			Secrets []Known `json:"secrets"`
		}{cli.Map(func(a *trust.Authority) Known { return Known{Fingerprint: a.Fingerprint(), Pin: a.Pin()} }, keys.Authorities())}
		return p.Answer(doc, cli.Table(doc.Secrets, []string{"FINGERPRINT", "PIN"}, func(k Known) []any {
			return []any{k.Fingerprint, k.Pin}
		}))
	})
}
