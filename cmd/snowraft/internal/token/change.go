package token

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// grants are the flags that set the rights and limits of a token.
type grants struct {
	scopes      []string
	expires     string
	rate, burst uint64
	sequences   uint64
}

// never is the expiry of a token that does not expire.
const never = "never"

// flags lists the flags with the field of a token that each one sets.
var flags = []struct{ flag, field string }{
	{"scope", "scopes"}, {"expires", "expires_at_ms"}, {"rate", "rate"}, {"burst", "burst"}, {"sequences", "sequences"},
}

func (g *grants) add(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cli.AddFlag(cmd, "", "scope", "", cli.RepeatedValue(&g.scopes, "SCOPE", `a scope, such as ids:issue:default (see "snowraft token --help")`, func(s string) bool {
		_, err := trust.ParseScope(s)
		return err == nil
	}), "scope of the token; repeat the flag for several")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(trust.Rights(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)) // registered once
	cli.AddFlag(cmd, "", "expires", "", cli.TextValue(&g.expires, "TIME"), "expiry, as RFC 3339 or Unix milliseconds, or as a duration from now, such as 720h; never for no expiry")
	cli.AddFlag(cmd, "", "rate", "", cli.UintValue(&g.rate, 0), "IDs and numbers per second from each member; 0 for no limit")
	cli.AddFlag(cmd, "", "burst", "", cli.UintValue(&g.burst, 0), "IDs and numbers at once (default: the number that --rate allows per second)")
	cli.AddFlag(cmd, "", "sequences", "", cli.UintValue(&g.sequences, 0), "sequences that the token can begin by first use; 0 for no limit")
}

// token returns a token with the values of the flags, and the names of the given fields.
func (g *grants) token(a *cli.App, cmd *cobra.Command) (*snowraftv1.Token, []string, error) {
	t := &snowraftv1.Token{Scopes: g.scopes, Rate: g.rate, Burst: g.burst, Sequences: g.sequences}
	if g.expires != "" && g.expires != never {
		var err error
		if d, notDuration := time.ParseDuration(g.expires); notDuration == nil {
			t.ExpiresAtMs = a.Now().Add(d).UnixMilli()
		} else if t.ExpiresAtMs, err = cli.ParseTime(g.expires); err != nil {
			return nil, nil, cli.Usagef("--expires %q: expected a time as RFC 3339 or Unix milliseconds, a duration such as 720h, or never", g.expires)
		}
		if t.GetExpiresAtMs() <= a.Now().UnixMilli() {
			return nil, nil, cli.Usagef("--expires %q: must be in the future by this machine's clock; choose a later time", g.expires)
		}
	}
	var given []string
	for _, f := range flags {
		if cmd.Flags().Changed(f.flag) {
			given = append(given, f.field)
		}
	}
	return t, given, nil
}

func newCreate(a *cli.App) *cobra.Command {
	g := grants{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token and print its text",
		Long: `Create a token with the given scopes and print its text, which is not kept: no later
command shows it. Give the text to the application as SNOWRAFT_TOKEN, and to nothing that
logs it. In a cluster with a secret the text ends with a pin, by which clients of
Snowraft verify the cluster.

Create the first token with --secret-file: the holder of the secret may do everything.`,
		Example: `  snowraft token create billing --scope seq:next:orders \
    --scope seq:read:orders --secret-file secret
  snowraft token create ids --scope ids:issue:default --expires 720h \
    --rate 10000`,
	}
	g.add(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		t, _, err := g.token(a, cmd)
		if err != nil {
			return err
		}
		if len(g.scopes) == 0 {
			return cli.Usagef(`token create: missing --scope; set at least one, such as --scope ids:issue:default`)
		}
		t.Name = args[0]
		resp, err := r.Tokens.CreateToken(ctx, &snowraftv1.CreateTokenRequest{Token: t})
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("created API token %q (ID %d); copy it now, because it is not stored:\n%s",
			resp.GetToken().GetName(), resp.GetToken().GetId(), resp.GetText()))
	})
}

func newUpdate(a *cli.App) *cobra.Command {
	g := grants{}
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Tokens),

		Use:   "update NAME|ID",
		Short: "Change what a token allows",
		Long: `Change the given settings of a token, or of the record "anonymous"; the scopes that are
given replace all scopes. The text of the token stays valid. The command waits until all
live members know the change. A token that a restore disabled is valid again after
--enable.`,
		Example: `  snowraft token update billing --scope seq:next:orders --expires never
  snowraft token update billing --enable
  snowraft token update anonymous --scope metrics:read --scope ids:issue:default`,
	}
	g.add(cmd)
	enable := false
	cmd.Flags().BoolVar(&enable, "enable", false, "make a token valid again that a restore disabled")
	generation := cli.AddGenerationFlag(cmd, "token")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		t, given, err := g.token(a, cmd)
		if err != nil {
			return err
		}
		if enable {
			given = append(given, "disabled")
		}
		if len(given) == 0 {
			return cli.Usagef("token update: missing setting; set --scope, --expires, --rate, --burst, --sequences or --enable")
		}
		resp, err := r.Tokens.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{
			Token: args[0], Changes: t, UpdateMask: &fieldmaskpb.FieldMask{Paths: given}, ExpectedGeneration: generation(),
		})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), oldScopes)
		return out.Answer(resp, record(resp.GetToken()))
	})
}
