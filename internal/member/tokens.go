package member

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/names/nfc"
)

// TokenSpec is an API token to create. The caller checks the meaning of the scopes.
type TokenSpec struct {
	Name            string
	Hash            [sha256.Size]byte // hash of the token's secret
	Scopes          []string
	ExpiresAtMillis int64  // Unix ms on the observed clock; 0 for never
	Rate, Burst     uint64 // IDs and numbers per second, and at once; both 0 for no limit
	Sequences       uint64 // sequences that callers with the token can begin by first use; 0 for no limit
}

// TokenChange is an API token after a change. A replica that has applied the change judges callers by it.
type TokenChange struct {
	Token *fsm.TokenRecord // must not be changed
	Index uint64           // log index of the change
}

// CreateToken adds an API token; only the leader can. The name must pass [nfc.Check].
func (m *Member) CreateToken(ctx context.Context, spec TokenSpec) (TokenChange, error) {
	if err := nfc.Check("token name", spec.Name); err != nil {
		return TokenChange{}, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, Detail: err.Error()}
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_CreateToken{CreateToken: &commandv1.CreateToken{
		Name: spec.Name, Hash: spec.Hash[:], Scopes: spec.Scopes, ExpiresAtMs: spec.ExpiresAtMillis, Rate: spec.Rate, Burst: spec.Burst,
		Sequences: spec.Sequences,
	}}})
	return TokenChange{result.Token, result.Index}, err
}

// UpdateToken changes the permissions of an API token or, with the ID 0, of anonymous callers; only the leader can. edit
// gets a copy of the present token and changes its scopes, expiry, rate, burst or limit of sequences, or enables it. edit is called again if
// another change came first. The error is a [GenerationError] if the token does not have the expected generation; nil
// accepts any.
func (m *Member) UpdateToken(ctx context.Context, id uint64, expected *uint64, edit func(*fsm.TokenRecord) error) (TokenChange, error) {
	for look := 1; ; look++ {
		present, err := m.expectToken(ctx, id, expected)
		if err != nil {
			return TokenChange{}, err
		}
		next := *present
		next.Scopes = slices.Clone(next.Scopes)
		if err := edit(&next); err != nil {
			return TokenChange{}, err
		}
		result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_UpdateToken{UpdateToken: &commandv1.UpdateToken{
			Id: id, Generation: present.Generation, Scopes: next.Scopes, ExpiresAtMs: next.ExpiresAtMillis, Rate: next.Rate, Burst: next.Burst,
			Sequences: next.Sequences,
			Enable:    present.Disabled && !next.Disabled,
		}}})
		if lookAgain(err, look) {
			continue
		}
		return TokenChange{result.Token, result.Index}, err
	}
}

// DeleteToken deletes an API token, if it has the expected generation; nil accepts any. It returns the log index of the
// deletion. Only the leader can.
func (m *Member) DeleteToken(ctx context.Context, id uint64, expected *uint64) (index uint64, err error) {
	if _, err := m.expectToken(ctx, id, expected); err != nil {
		return 0, err
	}
	result, err := m.propose(ctx, m.clock.Now().Wall, revocation(id, expected))
	return result.Index, err
}

// revocation returns the command to delete a token. Without an expected generation, a change that commits first does
// not prevent the deletion.
func revocation(id uint64, expected *uint64) *commandv1.Command {
	c := &commandv1.DeleteToken{Id: id}
	if expected != nil {
		c.Generation = *expected
	}
	return &commandv1.Command{Body: &commandv1.Command_DeleteToken{DeleteToken: c}}
}

// TokenAtLeader returns an API token or, with the ID 0, the record of anonymous callers, as it was at some moment after
// the call; only the leader can. The caller must not change the record. The refusal of an unknown token is an
// [*fsm.Refused].
func (m *Member) TokenAtLeader(ctx context.Context, id uint64) (*fsm.TokenRecord, error) {
	return tokenAtLeader(ctx, m, fmt.Sprintf("token %d", id), func(s *fsm.State) (*fsm.TokenRecord, bool) { return s.Token(id) })
}

// TokenNamedAtLeader is [Member.TokenAtLeader] by name.
func (m *Member) TokenNamedAtLeader(ctx context.Context, name string) (*fsm.TokenRecord, error) {
	return tokenAtLeader(ctx, m, fmt.Sprintf("token %q", name), func(s *fsm.State) (*fsm.TokenRecord, bool) { return s.TokenNamed(name) })
}

func tokenAtLeader(ctx context.Context, m *Member, what string, find func(*fsm.State) (*fsm.TokenRecord, bool)) (*fsm.TokenRecord, error) {
	r, ok, err := atLeader(ctx, m, func(string) (r *fsm.TokenRecord, ok bool) {
		m.fsm.View(func(s *fsm.State) { r, ok = find(s) })
		return r, ok
	}, "")
	if err == nil && !ok {
		err = &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_UNKNOWN_TOKEN, Detail: what + ` does not exist; see "snowraft token list"`}
	}
	return r, err
}

// expectToken returns the token with that ID, if it has the expected generation; nil accepts any.
func (m *Member) expectToken(ctx context.Context, id uint64, expected *uint64) (*fsm.TokenRecord, error) {
	return expect(ctx, m, fmt.Sprintf("token %d", id), expected, func() (*fsm.TokenRecord, uint64, error) {
		r, err := m.TokenAtLeader(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		return r, r.Generation, nil
	})
}
