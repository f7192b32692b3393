package fsm

import (
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// addToken adds an API token, or the record of anonymous callers, which comes before the tokens.
func (r *snapshotDecoder) addToken(m *commandv1.SnapshotToken) error {
	s, last := r.state, uint64(0)
	if n := len(s.tokens.byID); n > 0 {
		last = s.tokens.byID[n-1].ID
	}
	if err := checkGrants(m); err != nil {
		return corrupt("token %d: %w", m.GetId(), err)
	}
	if m.GetNarrowed() > m.GetGeneration() || m.GetNarrowed() < m.GetId() || m.GetGeneration() == 0 {
		return corrupt("token %d was changed at %d and narrowed at %d", m.GetId(), m.GetGeneration(), m.GetNarrowed())
	}
	made := &TokenRecord{
		ID: m.GetId(), Generation: m.GetGeneration(), Name: m.GetName(), Scopes: slices.Clone(m.GetScopes()), CreatedMillis: m.GetCreatedAtMs(),
		ExpiresAtMillis: m.GetExpiresAtMs(), Rate: m.GetRate(), Burst: m.GetBurst(), narrowed: m.GetNarrowed(),
		Disabled: m.GetDisabled(), Sequences: m.GetSequences(), Begun: m.GetBegun(),
	}
	s.index = max(s.index, made.Generation)
	if made.ID == 0 {
		if last != 0 || s.tokens.anonymous.Generation != 0 {
			return corrupt("anonymous callers are out of order")
		}
		if made.Name != "" || len(m.GetHash()) != 0 || made.ExpiresAtMillis != 0 || made.Disabled {
			return corrupt("anonymous callers with a name, a hash or an expiry, or disabled")
		}
		made.Name = AnonymousToken
		s.tokens.anonymous = made
		return nil
	}
	if err := checkTokenName(made.Name); err != nil {
		return corrupt("%w", err)
	}
	hash, ok := hashOf(m.GetHash())
	if !ok {
		return corrupt("token %d has a hash of %d bytes, expected %d", made.ID, len(m.GetHash()), hashBytes)
	}
	made.Hash = hash
	if made.ID <= last || len(s.tokens.byID) == maxTokens || r.tokenNames[made.Name] {
		return corrupt("token %d (%q) is out of order, there twice, or one too many", made.ID, made.Name)
	}
	r.tokenNames[made.Name] = true
	s.tokens.byID = append(s.tokens.byID, made)
	return nil
}
