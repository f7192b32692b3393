package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// tokens is the TokenService of a member.
type tokens struct {
	snowraftv1.UnimplementedTokenServiceServer
	*Services
}

// CreateToken implements snowraftv1.TokenServiceServer. Only the response contains the secret.
func (t tokens) CreateToken(ctx context.Context, req *snowraftv1.CreateTokenRequest) (*snowraftv1.CreateTokenResponse, error) {
	if err := t.judged(); err != nil {
		return nil, err
	}
	m := req.GetToken()
	if _, err := strconv.ParseUint(m.GetName(), 10, 64); err == nil {
		return nil, wire.Invalid(fmt.Sprintf("token name %q: must not be a number; choose another name", m.GetName()))
	}
	grants := fsm.TokenRecord{}
	if err := applyToken(&grants, m, tokenFields); err != nil {
		return nil, err
	}
	secret := trust.NewTokenSecret()
	made, err := t.Member.CreateToken(ctx, member.TokenSpec{
		Name: m.GetName(), Hash: trust.HashTokenSecret(secret), Scopes: grants.Scopes,
		ExpiresAtMillis: grants.ExpiresAtMillis, Rate: grants.Rate, Burst: grants.Burst, Sequences: grants.Sequences,
	})
	if err != nil {
		return nil, err
	}
	text := trust.Token{ID: made.Token.ID, Secret: secret, Pin: t.Pin()}.Text()
	return &snowraftv1.CreateTokenResponse{Token: tokenMessage(made.Token), Text: text}, nil
}

// judged returns an error in an open cluster. An open cluster allows every call, so a token that any process creates there
// would remain valid after the cluster is secured.
func (t tokens) judged() error {
	if t.Keys == nil {
		return rpc.NewError(rpc.ClusterOpen, "the cluster is open: its members do not check tokens; start them with --secret-file. Before that, only \"snowraft token update anonymous\" with scopes for issuing is allowed")
	}
	return nil
}

// prepared lists the rights that callers without a token can get while the cluster is open.
var prepared = []string{trust.RightIssueIDs, trust.RightNextNumbers, trust.RightReadSequence, trust.RightLeaseWorker, trust.RightReadMetrics}

// prepares reports whether a change only gives callers without a token rights that issue IDs and numbers. An open cluster allows
// it, so that such callers continue when the cluster is secured.
func prepares(req *snowraftv1.UpdateTokenRequest, fields []string) bool {
	return req.GetToken() == fsm.AnonymousToken && slices.Equal(fields, []string{"scopes"}) &&
		!slices.ContainsFunc(req.GetChanges().GetScopes(), func(scope string) bool {
			return !slices.ContainsFunc(prepared, func(right string) bool { return scope == right || strings.HasPrefix(scope, right+":") })
		})
}

func (t tokens) GetToken(ctx context.Context, req *snowraftv1.GetTokenRequest) (*snowraftv1.GetTokenResponse, error) {
	found, err := t.find(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GetTokenResponse{Token: tokenMessage(found)}, nil
}

// find returns a token by its ID or name from the leader's state.
func (t tokens) find(ctx context.Context, token string) (*fsm.TokenRecord, error) {
	if id, err := strconv.ParseUint(token, 10, 64); err == nil {
		return t.Member.TokenAtLeader(ctx, id)
	}
	if token == fsm.AnonymousToken {
		return t.Member.TokenAtLeader(ctx, 0)
	}
	return t.Member.TokenNamedAtLeader(ctx, token)
}

func (t tokens) ListTokens(_ context.Context, req *snowraftv1.ListTokensRequest) (*snowraftv1.ListTokensResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	var found []*fsm.TokenRecord
	after := uint64(0)
	if page := req.GetPageToken(); page != "" {
		if after, err = strconv.ParseUint(page, 10, 64); err != nil {
			return nil, wire.Invalid(fmt.Sprintf("page_token %q: expected a next_page_token of ListTokens", page))
		}
	} else {
		found = append(found, t.Member.State().Anonymous())
	}
	t.Member.State().View(func(s *fsm.State) { found = append(found, s.Tokens(after, size+1-len(found))...) })
	resp := &snowraftv1.ListTokensResponse{ObservedClockAtMs: t.Member.State().Observed().Load()}
	resp.Tokens, resp.NextPageToken = page(found, size, func(r *fsm.TokenRecord) string { return strconv.FormatUint(r.ID, 10) }, tokenMessage)
	return resp, nil
}

func (t tokens) UpdateToken(ctx context.Context, req *snowraftv1.UpdateTokenRequest) (*snowraftv1.UpdateTokenResponse, error) {
	fields, err := changedTokenFields(req)
	if err != nil {
		return nil, err
	}
	if err := t.judged(); err != nil && !prepares(req, fields) {
		return nil, err
	}
	found, err := t.find(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	updated, err := t.Member.UpdateToken(ctx, found.ID, req.ExpectedGeneration, func(r *fsm.TokenRecord) error {
		return applyToken(r, req.GetChanges(), fields)
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.UpdateTokenResponse{Token: tokenMessage(updated.Token), UnreachedMembers: t.spread(ctx, updated.Index)}, nil
}

func (t tokens) DeleteToken(ctx context.Context, req *snowraftv1.DeleteTokenRequest) (*snowraftv1.DeleteTokenResponse, error) {
	if err := t.judged(); err != nil {
		return nil, err
	}
	found, err := t.find(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	index, err := t.Member.DeleteToken(ctx, found.ID, req.ExpectedGeneration)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DeleteTokenResponse{UnreachedMembers: t.spread(ctx, index)}, nil
}

func (t tokens) VerifyToken(ctx context.Context, req *snowraftv1.VerifyTokenRequest) (*snowraftv1.VerifyTokenResponse, error) {
	if err := t.judged(); err != nil {
		return nil, err
	}
	p, err := t.Verify(ctx, req.GetText())
	if _, denied := errors.AsType[*trust.Denied](err); denied {
		return &snowraftv1.VerifyTokenResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	var found *fsm.TokenRecord
	t.Member.State().View(func(s *fsm.State) { found, _ = s.Token(p.TokenID()) })
	if found == nil { // deleted after Verify
		return &snowraftv1.VerifyTokenResponse{}, nil
	}
	return &snowraftv1.VerifyTokenResponse{Token: tokenMessage(found)}, nil
}

// tokenFields lists the fields of a token that its administrator sets.
var tokenFields = []string{"scopes", "expires_at_ms", "rate", "burst", "disabled", "sequences"}

// changedTokenFields returns the fields that an update changes.
func changedTokenFields(req *snowraftv1.UpdateTokenRequest) ([]string, error) {
	if req.GetChanges() == nil {
		return nil, wire.Invalid("changes: missing")
	}
	if req.UpdateMask != nil {
		return req.GetUpdateMask().GetPaths(), checkPaths(req.GetUpdateMask().GetPaths(), tokenFields)
	}
	m := req.GetChanges().ProtoReflect()
	return slices.DeleteFunc(slices.Clone(tokenFields), func(name string) bool {
		return !m.Has(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}), nil
}

// applyToken copies fields from a message to r. The default burst is the number that the rate allows per second.
func applyToken(r *fsm.TokenRecord, m *snowraftv1.Token, fields []string) error {
	for _, field := range fields {
		switch field {
		case "scopes":
			r.Scopes = nil
			for _, text := range m.GetScopes() {
				scope, err := trust.ParseScope(text)
				if err != nil {
					return wire.Invalid(err.Error())
				}
				r.Scopes = append(r.Scopes, string(scope))
			}
		case "expires_at_ms":
			r.ExpiresAtMillis = m.GetExpiresAtMs()
		case "rate":
			if r.Burst == r.Rate { // the default burst follows the rate
				r.Burst = m.GetRate()
			}
			r.Rate = m.GetRate()
		case "burst":
			r.Burst = m.GetBurst()
		case "sequences":
			r.Sequences = m.GetSequences()
		case "disabled":
			if m.GetDisabled() && !r.Disabled {
				return wire.Invalid("disabled: only a restore disables tokens; delete the token instead")
			}
			r.Disabled = m.GetDisabled()
		}
	}
	switch {
	case r.Rate == 0 && r.Burst != 0 && slices.Contains(fields, "burst"):
		return wire.Invalid("burst: expected together with a rate")
	case r.Rate == 0 || r.Burst == 0:
		r.Burst = r.Rate
	}
	return nil
}

func tokenMessage(r *fsm.TokenRecord) *snowraftv1.Token {
	return &snowraftv1.Token{
		Id: r.ID, Name: r.Name, Scopes: r.Scopes, ExpiresAtMs: r.ExpiresAtMillis, Rate: r.Rate, Burst: r.Burst,
		CreatedAtMs: r.CreatedMillis, Generation: r.Generation, Disabled: r.Disabled,
		Sequences: r.Sequences, Begun: r.Begun,
	}
}
