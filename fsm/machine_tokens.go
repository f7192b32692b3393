package fsm

// TokenRevision returns a number that grows when an API token or the record of anonymous callers was changed, and
// when a snapshot was restored. It takes no lock, because each call compares it with the revision at which the caller
// was judged. A reader that has read a new value then reads the new tokens.
func (m *Machine) TokenRevision() uint64 { return m.tokenRevision.Load() }

// Token returns the API token with that ID; no token has the ID 0. It takes no lock.
func (m *Machine) Token(id uint64) (*TokenRecord, bool) {
	r, _, ok := m.tokens.Load().find(id)
	return r, ok && id != 0
}

// Anonymous returns the record of callers without a token. It takes no lock.
func (m *Machine) Anonymous() *TokenRecord { return m.tokens.Load().anonymous }

// TokenCount returns the number of tokens, without the anonymous record. It takes no lock.
func (m *Machine) TokenCount() int { return len(m.tokens.Load().byID) }

// TokenNames returns the names of the oldest tokens, oldest first, limited to most, without the anonymous record. It
// takes no lock.
func (m *Machine) TokenNames(most int) (names []string) {
	byID := m.tokens.Load().byID
	for _, r := range byID[:min(most, len(byID))] {
		names = append(names, r.Name)
	}
	return names
}

// NextTokenExpiry returns the earliest time after from at which a token expires, both in Unix ms; 0 if none does. Tokens that a
// restore disabled do not count, nor those with a life of at most brief ms. It takes no lock.
func (m *Machine) NextTokenExpiry(from, brief int64) (next int64) {
	for _, r := range m.tokens.Load().byID {
		at := r.ExpiresAtMillis
		if !r.Disabled && at > from && at-r.CreatedMillis > brief && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
