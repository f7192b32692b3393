package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

var tokenSettings = []setting[*snowraftv1.Token]{
	{"scopes", "scopes", "Scopes, such as ids:issue:default or seq:next:orders/*. The order does not count.", isList, func(m *snowraftv1.Token) *cli.Value {
		return listOf(&m.Scopes, "a list of scopes, such as [ids:issue:default] (see \"snowraft token --help\")", func(s string) bool {
			_, err := trust.ParseScope(s)
			return err == nil
		})
	}},
	{"expires", "expires_at_ms", "Expiry, as RFC 3339 such as 2027-01-01T00:00:00Z. Without it, the token never expires.", isEither,
		func(m *snowraftv1.Token) *cli.Value { return instantOf(&m.ExpiresAtMs, cli.StampKnown) }},
	{"rate", "rate", "IDs and numbers per second from each member; 0 for no limit.", isNumber, func(m *snowraftv1.Token) *cli.Value { return cli.UintValue(&m.Rate, 0) }},
	{"burst", "burst", "IDs and numbers at once. The default is the number that the rate allows per second.", isNumber,
		func(m *snowraftv1.Token) *cli.Value { return cli.UintValue(&m.Burst, 0) }},
	{"sequences", "sequences", "Sequences that the token can begin by first use; 0 for no limit.", isNumber,
		func(m *snowraftv1.Token) *cli.Value { return cli.UintValue(&m.Sequences, 0) }},
}

// tokens are the API tokens, and the record of callers without one.
type tokens struct {
	*cli.Remote
	secrets *secrets
	own     uint64 // ID of the token of this command; 0 without one
}

func (tokens) settings() []setting[*snowraftv1.Token] { return tokenSettings }
func (tokens) fresh(name string) *snowraftv1.Token    { return &snowraftv1.Token{Name: name} }
func (tokens) numerous() bool                         { return false }
func (tokens) name(m *snowraftv1.Token) string        { return m.GetName() }

// kept keeps the token with which this command runs, which could delete nothing after it.
func (k tokens) kept(m *snowraftv1.Token) bool { return m.GetId() == 0 || m.GetId() == k.own }

// omitted leaves out the record of callers without a token while it is that of a new cluster. An open cluster has no other.
func (tokens) omitted(m *snowraftv1.Token) bool {
	return m.GetId() == 0 && m.GetGeneration() == 0
}

func (k tokens) section() section {
	return section{key: "tokens", about: "API tokens by name. The name \"anonymous\" is the record of callers without a token.", named: true, need: []string{"scopes"},
		keys: keys(tokenSettings, func() *snowraftv1.Token { return &snowraftv1.Token{} })}
}

func (k tokens) list(ctx context.Context) ([]*snowraftv1.Token, error) {
	return cli.List(func(page string) ([]*snowraftv1.Token, string, error) {
		resp, err := k.Tokens.ListTokens(ctx, &snowraftv1.ListTokensRequest{PageSize: cli.PageSize, PageToken: page})
		return resp.GetTokens(), resp.GetNextPageToken(), err
	})
}

func (k tokens) find(ctx context.Context, name string) (*snowraftv1.Token, error) {
	resp, err := k.Tokens.GetToken(ctx, &snowraftv1.GetTokenRequest{Token: name})
	if err == nil && resp.GetToken().GetName() != name { // a number, which names the token with that ID
		err = rpc.NewError(rpc.UnknownToken, fmt.Sprintf("token %q does not exist", name))
	}
	return resp.GetToken(), err
}

func (tokens) complete(_ object, m *snowraftv1.Token) (*snowraftv1.Token, error) {
	m = proto.CloneOf(m)
	m.Burst = cmp.Or(m.GetBurst(), m.GetRate())
	return m, nil
}

func (k tokens) want(p *planner, o object, asked, _ *snowraftv1.Token, exists bool) (*snowraftv1.Token, string) {
	m, _ := k.complete(o, asked) // never fails
	switch {
	case m.GetRate() == 0 && m.GetBurst() != 0:
		return m, "burst: expected together with a rate"
	case exists:
		return m, ""
	case m.GetExpiresAtMs() != 0 && m.GetExpiresAtMs() <= p.now.UnixMilli():
		return m, "expires: must be in the future by this machine's clock; choose a later time"
	default:
		return m, k.secrets.refusal(o.name, p.dry)
	}
}

// create writes the secret of a new token to its file. If it cannot, it deletes the token, because the secret would be lost.
func (k tokens) create(ctx context.Context, m *snowraftv1.Token) ([]string, error) {
	reserved, err := k.secrets.reserve(m.GetName())
	if err != nil {
		return nil, err
	}
	defer reserved.Discard()
	resp, err := k.Tokens.CreateToken(ctx, &snowraftv1.CreateTokenRequest{Token: m})
	if err != nil {
		return nil, err
	}
	if err := reserved.keep(resp.GetText()); err != nil {
		_, undo := k.remove(ctx, resp.GetToken())
		if undo != nil {
			return nil, fmt.Errorf("%w; the token was created, and its secret is lost: delete it (%w)", err, undo)
		}
		return nil, fmt.Errorf("%w; the token was deleted again", err)
	}
	return nil, nil
}

func (k tokens) update(ctx context.Context, m, was *snowraftv1.Token, fields []string) ([]string, error) {
	if slices.Contains(fields, "rate") && !slices.Contains(fields, "burst") {
		fields = append(fields, "burst") // which would follow the rate
	}
	resp, err := k.Tokens.UpdateToken(ctx, &snowraftv1.UpdateTokenRequest{
		Token: cli.Decimal(was.GetId()), Changes: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}, ExpectedGeneration: new(was.GetGeneration()),
	})
	return resp.GetUnreachedMembers(), err
}

func (k tokens) remove(ctx context.Context, m *snowraftv1.Token) ([]string, error) {
	resp, err := k.Tokens.DeleteToken(ctx, &snowraftv1.DeleteTokenRequest{Token: cli.Decimal(m.GetId()), ExpectedGeneration: new(m.GetGeneration())})
	return resp.GetUnreachedMembers(), err
}
