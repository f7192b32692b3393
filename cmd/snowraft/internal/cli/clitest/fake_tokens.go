package clitest

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// tokens holds tokens in ascending order of their IDs.
var tokens = []*snowraftv1.Token{
	{Name: "anonymous", Scopes: []string{"metrics:read"}},
	{Id: 17, Name: "billing", Scopes: []string{"seq:next:orders/*", "seq:read:orders/*"}, Rate: 1000, Burst: 5000, Sequences: 20, Begun: 7, CreatedAtMs: 1792418538000, Generation: 40},
	{Id: 18, Name: "ids", Scopes: []string{"ids:issue:default"}, ExpiresAtMs: 1795010538000, CreatedAtMs: 1792418538000, Generation: 18},
}

// tokenUses holds uses of tokens, the latest first.
var tokenUses = []*snowraftv1.TokenUse{
	{Host: "10.0.9.5", TokenId: 17, TokenName: "billing", SecretFingerprint: "0123456789abcdef", Count: 3, Open: 2, LastAtMs: 1794751338000},
	{Host: "10.0.9.6", TokenId: 12, Fault: "unknown", Count: 552, LastAtMs: 1794751337000},
	{Host: "10.0.9.7", TokenId: 18, TokenName: "ids", SecretFingerprint: "fc8921786d643a5a", Count: 1, LastAtMs: 1794664938000}, //nolint:gosec // a fingerprint, no credential
}

// tokenText is the text of a token that does not exist.
const tokenText = "snowraft_17_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
