package secret

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// Known is a secret that the file or a member has.
type Known struct {
	Fingerprint string    `json:"fingerprint"`
	Pin         string    `json:"pin"` // empty if the file lacks the secret
	InFile      bool      `json:"inFile"`
	KnownBy     []string  `json:"knownBy,omitempty"`    // names of members
	NotKnownBy  []string  `json:"notKnownBy,omitempty"` // names of the members that answered
	SignedBy    []string  `json:"signedBy,omitempty"`   // names of the members that sign with it
	NeededBy    []cli.Use `json:"neededBy,omitempty"`   // clients that verify members by its pin alone
}

func newList(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List secrets, and which members know them",
		Long: `List the secrets of a secret file in its order, by fingerprint. With --addr, also list
which members know each secret, and secrets that only members know. Members sign and
encrypt with the first secret of their file that all members know.

Fingerprints contain nothing secret. To replace a secret, add the new line below the old
one on every host, give clients the CAs of both ("snowraft secret ca"), and then move it
to the top. The old one can be removed when all members sign with the new one and no
client needs it: members remember clients of gRPC and HTTP since they started.`,
		Example: `  snowraft secret list --secret-file secret
  snowraft secret list --secret-file secret --addr 10.0.0.1:7700,10.0.0.2:7700`,
	}
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, p *cli.Printer, _ []string) error {
		file, ask := cli.AccessOf(cmd.Flags()).SecretFile, cmd.Flags().Changed(cli.AddrFlag)
		if file == "" && !ask {
			return cli.Usagef("missing --%s; set the flag or %s, or --%s", fileFlag, cli.EnvName(fileFlag), cli.AddrFlag)
		}
		var secrets []*Known
		if file != "" {
			keys, err := open(file)
			if err != nil {
				return err
			}
			secrets = cli.Map(func(a *trust.Authority) *Known {
				return &Known{Fingerprint: a.Fingerprint(), Pin: a.Pin(), InFile: true}
			}, keys.Authorities())
		}
		if !ask {
			return p.Answer(document{secrets}, cli.Table(secrets, []string{"FINGERPRINT", "PIN"}, func(k *Known) []any {
				return []any{k.Fingerprint, k.Pin}
			}))
		}
		resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
		if err != nil {
			return err
		}
		secrets = join(secrets, resp.GetMembers())
		uses, statuses, err := a.Uses(ctx, r, resp.GetMembers())
		if err != nil {
			return err
		}
		for _, k := range secrets {
			k.use(uses, statuses)
		}
		blocks := []cli.Block{cli.Table(secrets, []string{"FINGERPRINT", "IN FILE", "KNOWN BY", "NOT KNOWN BY", "SIGNED BY"}, func(k *Known) []any {
			in := "no"
			if k.InFile {
				in = "yes"
			}
			return []any{k.Fingerprint, in, strings.Join(k.KnownBy, ", "), strings.Join(k.NotKnownBy, ", "), strings.Join(k.SignedBy, ", ")}
		})}
		if len(secrets) > 1 {
			blocks = append(blocks, cli.Line("%s", strings.Join(cli.Map(func(k *Known) string { return k.advice(len(statuses) == len(resp.GetMembers())) }, secrets), "\n")))
		}
		return p.Answer(document{secrets}, blocks...)
	})
}

type document struct {
	Secrets []*Known `json:"secrets"`
}

// use sets the members that sign with the secret, and the clients that need it.
func (k *Known) use(uses []cli.Use, statuses []*snowraftv1.GetStatusResponse) {
	for _, s := range statuses {
		if s.GetSigningFingerprint() == k.Fingerprint {
			k.SignedBy = append(k.SignedBy, cmp.Or(s.GetName(), s.GetMemberId()))
		}
	}
	for _, u := range uses {
		if u.Secret == k.Fingerprint {
			k.NeededBy = append(k.NeededBy, u)
		}
	}
}

// mostNamed is the greatest number of clients in a line of advice.
const mostNamed = 5

// advice returns whether the secret can be removed. complete reports whether all members answered.
func (k *Known) advice(complete bool) string {
	switch {
	case len(k.SignedBy) > 0:
		return k.Fingerprint + " is in use: members sign with it"
	case len(k.NeededBy) > 0:
		needs := cli.Map(func(u cli.Use) string { return fmt.Sprintf("%s with token %d (%s)", u.Host, u.Token, u.Last()) }, k.NeededBy[:min(mostNamed, len(k.NeededBy))])
		if more := len(k.NeededBy) - len(needs); more > 0 {
			needs = append(needs, fmt.Sprintf("%d more", more))
		}
		if slices.ContainsFunc(k.NeededBy, func(u cli.Use) bool { return u.Open > 0 }) {
			return k.Fingerprint + " is needed by " + strings.Join(needs, ", ")
		}
		return k.Fingerprint + " is needed by no open connection; the last ones were of " + strings.Join(needs, ", ")
	case !complete:
		return k.Fingerprint + " may be needed: not all members answered"
	default:
		return k.Fingerprint + " is needed by no client that members have seen since they started; it can be removed"
	}
}

// join adds the secrets of the members to the secrets of the file. It sets the members that know each secret.
func join(secrets []*Known, members []*snowraftv1.Member) []*Known {
	for _, m := range members {
		for _, fingerprint := range m.GetSecretFingerprints() {
			if !slices.ContainsFunc(secrets, func(k *Known) bool { return k.Fingerprint == fingerprint }) {
				secrets = append(secrets, &Known{Fingerprint: fingerprint})
			}
		}
	}
	for _, k := range secrets {
		for _, m := range members {
			name := cmp.Or(m.GetName(), m.GetId())
			if slices.Contains(m.GetSecretFingerprints(), k.Fingerprint) {
				k.KnownBy = append(k.KnownBy, name)
			} else {
				k.NotKnownBy = append(k.NotKnownBy, name)
			}
		}
	}
	return secrets
}
