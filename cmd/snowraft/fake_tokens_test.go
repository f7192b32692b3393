package main

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// fakeTokens holds tokens in ascending order of their IDs.
var fakeTokens = []*snowraftv1.Token{
	{Name: "anonymous", Scopes: []string{"metrics:read"}},
	{Id: 17, Name: "billing", Scopes: []string{"seq:next:orders/*", "seq:read:orders/*"}, Rate: 1000, Burst: 5000, CreatedAtMs: 1792418538000, Generation: 40},
	{Id: 18, Name: "ids", Scopes: []string{"ids:issue:default"}, ExpiresAtMs: 1795010538000, CreatedAtMs: 1792418538000, Generation: 18},
}

// fakeTokenText is the text of a token that does not exist.
const fakeTokenText = "snowraft_17_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func (*fakeAPI) CreateToken(context.Context, *snowraftv1.CreateTokenRequest) (*snowraftv1.CreateTokenResponse, error) {
	return &snowraftv1.CreateTokenResponse{Token: fakeTokens[1], Text: fakeTokenText}, nil
}

func (*fakeAPI) GetToken(context.Context, *snowraftv1.GetTokenRequest) (*snowraftv1.GetTokenResponse, error) {
	return &snowraftv1.GetTokenResponse{Token: fakeTokens[1]}, nil
}

func (*fakeAPI) ListTokens(context.Context, *snowraftv1.ListTokensRequest) (*snowraftv1.ListTokensResponse, error) {
	return &snowraftv1.ListTokensResponse{Tokens: fakeTokens}, nil
}

func (f *fakeAPI) UpdateToken(context.Context, *snowraftv1.UpdateTokenRequest) (*snowraftv1.UpdateTokenResponse, error) {
	return &snowraftv1.UpdateTokenResponse{Token: fakeTokens[2], UnreachedMembers: f.unreached}, nil
}

func (f *fakeAPI) DeleteToken(context.Context, *snowraftv1.DeleteTokenRequest) (*snowraftv1.DeleteTokenResponse, error) {
	return &snowraftv1.DeleteTokenResponse{UnreachedMembers: f.unreached}, nil
}
