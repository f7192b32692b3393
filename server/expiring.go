package server

import (
	"math"
	"time"
)

// brief is the longest life of a token whose expiry is not announced.
const brief = 7 * 24 * time.Hour

// nextExpiry returns the time at which the next token expires, in Unix seconds, without tokens of a brief life; NaN if none does.
func (t *tokenTable) nextExpiry() float64 {
	if t == nil {
		return math.NaN()
	}
	return unixOrNaN(t.server.member.State().NextTokenExpiry(t.NowMillis(), brief.Milliseconds()))
}
