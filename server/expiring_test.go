package server_test

import (
	"math"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// The metric announces the next expiry of a token, without those of tokens with a life of up to seven days.
func TestNextExpiryOfTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		keys, err := trust.NewKeys(trust.NewSecret())
		if err != nil {
			t.Fatal(err)
		}
		n := startCluster(t, 1, func(cfg *server.Config) {
			cfg.Keys = keys
		})[0]
		next := func() float64 { return n.scrape().value(t, "snowraft_token_next_expiry_timestamp_seconds") }
		if got := next(); !math.IsNaN(got) {
			t.Errorf("without tokens, the next one expires at %v", got)
		}
		const week = 7 * 24 * time.Hour
		begin := time.Now()
		for name, life := range map[string]time.Duration{"brief": 40 * time.Minute, "billing": week + 15*time.Minute, "reports": 2 * week, "lasting": 0} {
			spec := member.TokenSpec{Name: name, Scopes: []string{trust.RightReadCluster}}
			if life > 0 {
				spec.ExpiresAtMillis = begin.Add(life).UnixMilli()
			}
			if _, err := n.server.Member().CreateToken(t.Context(), spec); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := next(), float64(begin.Add(week+15*time.Minute).UnixMilli())/1000; got != want {
			t.Errorf("the next token expires at %v, want %v", got, want)
		}
	})
}
