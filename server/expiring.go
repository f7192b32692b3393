package server

import (
	"fmt"
	"math"
	"time"

	"github.com/snowraft/snowraft/fsm"
)

const (
	// expiryNotice is the time before a token expires from which the leader warns. Tokens with shorter lives cause no warning.
	expiryNotice = 7 * 24 * time.Hour
	// expiryBeat is the interval of the leader's checks, and expiryRepeat that of the warnings about one token.
	expiryBeat   = 10 * time.Minute
	expiryRepeat = 24 * time.Hour
)

// expiring returns the tokens that expire from now until a time in Unix ms, without those whose life is at most expiryNotice.
func (t *tokenTable) expiring(to int64) (found []*fsm.TokenRecord) {
	for _, r := range t.server.member.State().TokensExpiring(t.NowMillis(), to) {
		if r.ExpiresAtMillis-r.CreatedMillis > expiryNotice.Milliseconds() {
			found = append(found, r)
		}
	}
	return found
}

// nextExpiry returns the time at which the next token expires, in Unix seconds; NaN if none does.
func (t *tokenTable) nextExpiry() float64 {
	if t == nil {
		return math.NaN()
	}
	next := int64(0)
	for _, r := range t.expiring(math.MaxInt64) {
		if next == 0 || r.ExpiresAtMillis < next {
			next = r.ExpiresAtMillis
		}
	}
	return unixOrNaN(next)
}

// warn logs, while this member leads, the tokens that expire soon: each one from expiryNotice on, and again after each
// expiryRepeat.
func (t *tokenTable) warn(done <-chan struct{}) {
	beat := time.NewTicker(expiryBeat)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
		case <-done:
			return
		}
		if !t.server.member.Node().IsLeader() {
			continue
		}
		var names []string
		now := t.NowMillis()
		for _, r := range t.expiring(now + expiryNotice.Milliseconds()) {
			left := time.Duration(r.ExpiresAtMillis-now) * time.Millisecond
			if left/expiryRepeat != (left+expiryBeat)/expiryRepeat && len(names) < mostNamed {
				names = append(names, fmt.Sprintf("%s (%s)", r.Name, time.UnixMilli(r.ExpiresAtMillis).UTC().Format(time.RFC3339)))
			}
		}
		if len(names) > 0 {
			t.server.logger.Warn("tokens expire soon; extend them with \"snowraft token update\", or give their applications others", "tokens", names)
		}
	}
}
