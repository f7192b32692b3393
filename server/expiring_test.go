package server_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// Seven days before a token expires, the leader warns of it. Tokens with a shorter life expire in silence.
func TestTokensNearTheirExpiry(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		keys, err := trust.NewKeys(trust.NewSecret())
		if err != nil {
			t.Fatal(err)
		}
		n := startCluster(t, 1, func(cfg *server.Config) {
			cfg.Keys, cfg.Logger = keys, slog.New(slog.NewTextHandler(log, nil))
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
		const warning = "tokens expire soon"
		<-time.After(time.Until(begin.Add(13 * time.Minute)))
		if strings.Contains(log.String(), warning) {
			t.Errorf("a warning more than seven days before: %s", log)
		}
		<-time.After(30 * time.Minute)
		want := fmt.Sprintf(`%s; extend them with \"snowraft token update\", or give their applications others" member=m1 tokens="[billing (%s)]"`,
			warning, begin.Add(week+15*time.Minute).UTC().Format(time.RFC3339))
		if got := log.String(); strings.Count(got, warning) != 1 || !strings.Contains(got, want) {
			t.Errorf("the log has no line, or another line, with %s: %s", want, got)
		}
	})
}
