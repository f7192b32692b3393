package fsm

// TokenRevision returns a number that grows when an API token, or what anonymous callers may do, was changed, and
// when a snapshot was restored. It takes no lock: each call compares it with the revision at which its caller was
// judged. A reader of a new value reads the new tokens after that.
func (m *Machine) TokenRevision() uint64 { return m.tokenRevision.Load() }

// Token returns the API token of an ID, which is not 0. It takes no lock.
func (m *Machine) Token(id uint64) (*TokenRecord, bool) {
	r, _, ok := m.tokens.Load().find(id)
	return r, ok && id != 0
}

// Anonymous returns what callers without a token may do. It takes no lock.
func (m *Machine) Anonymous() *TokenRecord { return m.tokens.Load().anonymous }

// TokenCount returns how many tokens there are, without the anonymous one. It takes no lock.
func (m *Machine) TokenCount() int { return len(m.tokens.Load().byID) }

// TokenNames returns the names of at most so many tokens, the oldest first, without the anonymous one. It takes no lock.
func (m *Machine) TokenNames(most int) (names []string) {
	byID := m.tokens.Load().byID
	for _, r := range byID[:min(most, len(byID))] {
		names = append(names, r.Name)
	}
	return names
}
