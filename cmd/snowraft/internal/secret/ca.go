package secret

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/trust"
)

// CA is the certificate authority of one secret.
type CA struct {
	Fingerprint string `json:"fingerprint"`
	Pin         string `json:"pin"`
	Certificate string `json:"certificate"` // PEM
}

func newCA(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ca",
		Short: "Print the CA certificates of a secret file",
		Long: `Print the CA certificates of a secret file as PEM, one per secret. Clients that
cannot use the pin of a token, such as curl and redis-cli, verify members by them. The
certificates are not secret.`,
		Example: `  snowraft secret ca --secret-file secret > ca.pem
  curl --cacert ca.pem https://localhost:7701/healthz`,
	}
	path := ""
	cli.AddSetting(cmd, "Secret", fileFlag, cli.FileValue(&path), "secret file of the cluster")
	return a.Command(cmd, func(_ context.Context, p *cli.Printer, _ []string) error {
		if path == "" {
			return cli.Usagef("missing --%s; set the flag or %s", fileFlag, cli.EnvName(fileFlag))
		}
		a.CheckSecretFile(path)
		keys, err := open(path)
		if err != nil {
			return err
		}
		doc := struct {
			CAs []CA `json:"cas"`
		}{cli.Map(func(a *trust.Authority) CA {
			return CA{Fingerprint: a.Fingerprint(), Pin: a.Pin(), Certificate: string(a.PEM())}
		}, keys.Authorities())}
		text := strings.Join(cli.Map(func(ca CA) string { return ca.Certificate }, doc.CAs), "")
		return p.Answer(doc, cli.Line("%s", strings.TrimSuffix(text, "\n")))
	})
}
