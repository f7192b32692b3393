// Package token has the commands for API tokens, below the command that [New] returns.
package token

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command token.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Manage the API tokens of applications",
		Long: `Manage the API tokens of applications. In a cluster with a secret, an application may do
what the scopes of its token allow. The record "anonymous" is for callers without a token.

A scope is a right, and for some rights a name, which may end in *:
  ids:issue:LAYOUT     issue IDs and UUIDs
  seq:next:SEQUENCE    issue numbers
  seq:read:SEQUENCE    show a sequence and its last number; seq:read:* also
                       lists all
  seq:decode:SEQUENCE  decode texts of a sequence, such as voucher codes
  seq:admin:SEQUENCE   create, change and delete sequences
  ids:backfill:LAYOUT  issue IDs of the past, and manage the jobs for it
  worker:lease:LAYOUT  lease workers, for embedded generators
  metrics:read         read /metrics
  cluster:read         show the status, the configuration and workers
  cluster:admin        change members, the leader, the configuration and
                       layouts; write backups and debug archives
  tokens:verify        verify the tokens of others, for gateways
  tokens:admin         manage tokens, and thereby do everything`,
		Example: `  snowraft token create billing --scope seq:next:orders --secret-file secret
  snowraft token list
  snowraft token delete billing`,
	}, newCreate(a), newList(a), newGet(a), newUpdate(a), newDelete(a))
}

// record returns a block with all fields of a token.
func record(t *snowraftv1.Token) cli.Block {
	return cli.Record(
		"ID", t.GetId(),
		"Name", t.GetName(),
		"Scopes", strings.Join(t.GetScopes(), " "),
		"Expires at", cli.StampKnown(t.GetExpiresAtMs()),
		"Rate", rate(t),
		"Sequences", begun(t),
		"Created", cli.StampKnown(t.GetCreatedAtMs()),
		"Generation", t.GetGeneration(),
		"Disabled", cli.TextIf(t.GetDisabled(), `by a restore; see "snowraft token update --enable"`),
	)
}

// rate returns the rate of a token; empty without a limit.
func rate(t *snowraftv1.Token) string {
	return cli.TextIf(t.GetRate() > 0, "%d per second, %d at once, per member", t.GetRate(), t.GetBurst())
}

// begun returns the number of sequences that callers with a token have begun, and the limit; empty if both are 0.
func begun(t *snowraftv1.Token) string {
	if t.GetSequences() > 0 {
		return fmt.Sprintf("%d of %d begun by first use", t.GetBegun(), t.GetSequences())
	}
	return cli.TextIf(t.GetBegun() > 0, "%d begun by first use", t.GetBegun())
}

// expiry returns when a token expires, and how near that is at a time in Unix ms; empty for a token that does not expire.
func expiry(t *snowraftv1.Token, now int64) string {
	at := cli.StampKnown(t.GetExpiresAtMs())
	const day = 24 * 60 * 60 * 1000
	switch days := (t.GetExpiresAtMs() - now) / day; {
	case at == "" || days >= 7:
		return at
	case t.GetExpiresAtMs() <= now:
		return at + " (expired)"
	case days == 0:
		return at + " (within a day)"
	case days == 1:
		return at + " (in 1 day)"
	default:
		return fmt.Sprintf("%s (in %d days)", at, days)
	}
}

// oldScopes describes the effect of a change on members that were not reached.
const oldScopes = "until they learn of the change, they may use the previous scopes and rate"

func newGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Tokens),

		Use:   "get NAME|ID",
		Short: "Show a token",
		Long:  `Show a token, or the record "anonymous". The text of a token is not kept.`,
		Example: `  snowraft token get billing
  snowraft token get anonymous -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Tokens.GetToken(ctx, &snowraftv1.GetTokenRequest{Token: args[0]})
		if err != nil {
			return err
		}
		return out.Answer(resp, record(resp.GetToken()))
	})
}

func newList(a *cli.App) *cobra.Command {
	use := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, or who uses them",
		Long: `List the tokens by ID, after the record "anonymous", as the answering member knows them.
Tokens that have expired, or expire within seven days, are marked.

With --use, ask all members from which hosts tokens were used since the members started,
the latest first. A refused token is listed too, such as a deleted one that an application
still sends. The ID of an unknown token is what its text says. Connections behind a proxy
or gateway have its address.`,
		Example: `  snowraft token list
  snowraft token list --use
  snowraft token list -o json`,
	}
	cli.AddFlag(cmd, "", "use", "", cli.SwitchValue(&use), "list the hosts that used tokens, and refused tokens").NoOptDefVal = "true"
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if use {
			return listUses(ctx, a, r, out)
		}
		now := int64(0)
		tokens, err := cli.List(func(page string) ([]*snowraftv1.Token, string, error) {
			resp, err := r.Tokens.ListTokens(ctx, &snowraftv1.ListTokensRequest{PageSize: cli.PageSize, PageToken: page})
			now = resp.GetObservedClockAtMs()
			return resp.GetTokens(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"ID", "NAME", "SCOPES", "EXPIRES AT", "RATE"}
		doc := &snowraftv1.ListTokensResponse{Tokens: tokens, ObservedClockAtMs: now}
		return out.Answer(doc, cli.Table(tokens, heading, func(t *snowraftv1.Token) []any {
			return []any{t.GetId(), t.GetName(), strings.Join(t.GetScopes(), " "), expiry(t, now), rate(t)}
		}))
	})
}

func listUses(ctx context.Context, a *cli.App, r *cli.Remote, out *cli.Printer) error {
	resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return err
	}
	uses, _, err := a.Uses(ctx, r, resp.GetMembers())
	if err != nil {
		return err
	}
	doc := struct {
		Uses []cli.Use `json:"uses"`
	}{uses}
	return out.Answer(doc, cli.Table(uses, []string{"TOKEN", "NAME", "HOST", "REFUSED", "COUNT", "LAST"}, func(u cli.Use) []any {
		return []any{u.Token, u.Name, u.Host, u.Refused, u.Count, u.Last()}
	}))
}

func newDelete(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Tokens),

		Use:   "delete NAME|ID",
		Short: "Revoke a token permanently",
		Long: `Revoke a token permanently. Afterwards, the cluster issues nothing to the token. The
command waits until all live members know the revocation and issue nothing to the token.`,
		Example: `  snowraft token delete billing
  snowraft token delete 17 --if-generation 40`,
	}
	generation, ask := cli.AddGenerationFlag(cmd, "token"), a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if err := ask("Revoke the token %q permanently?", args[0]); err != nil {
			return err
		}
		resp, err := r.Tokens.DeleteToken(ctx, &snowraftv1.DeleteTokenRequest{Token: args[0], ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), "until they learn of the revocation, they may issue to the token from memory")
		return out.Answer(resp, cli.Line("deleted token %q", args[0]))
	})
}
