package server_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// Redis clients get the text and the period of a number at members and gateways.
func TestRedisNumberHasItsTextAndPeriod(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" })
		g := inFront(t, nodes)
		if _, err := leader(t, nodes).sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{
			Name: "bills", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, Format: "{date:yyyy-MM-dd}/{seq:03}", Max: new(int64(999)),
		}}); err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`^\*3 \$1 (\d) \$14 (\d{4}-\d\d-\d\d)/00(\d) \$10 (\d{4}-\d\d-\d\d)$`)
		for at, address := range map[string]string{"gateway": g.RedisAddr(), "leader": leader(t, nodes).server.RedisAddr()} {
			conn := reach(t, address)
			got := strings.Join(redisSays(t, conn, "SNOWRAFT.NEXT bills", "", "", "", "", "", ""), " ") // seven lines of one answer
			if m := want.FindStringSubmatch(got); m == nil || m[1] != m[3] || m[2] != m[4] {
				t.Errorf("at the %s: %q", at, got)
			}
			_ = conn.Close()
		}
	})
}

// Redis clients take late numbers, and state how a period ended, at members and gateways.
func TestRedisTakesLateNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" })
		untilObserved(t, nodes)
		nodes[0].createSequence(lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT))
		nodes[0].next("inv", 3)
		nodes[0].enterNextDay("inv")
		nodes[0].next("inv", 1)
		at := reach(t, inFront(t, nodes).RedisAddr())
		defer func() { _ = at.Close() }()
		one := func(number, text, day string) []string {
			return []string{"*3", "$" + strconv.Itoa(len(number)), number, "$" + strconv.Itoa(len(text)), text, "$10", day}
		}
		if got, want := redisSays(t, at, "SNOWRAFT.NEXT inv PERIOD 2026-06-30 FROM 50", "", "", "", "", "", ""), one("50", "20260630-050", "2026-06-30"); !slices.Equal(got, want) {
			t.Errorf("stated: %q, want %q", got, want)
		}
		if got, want := redisSays(t, at, "SNOWRAFT.NEXT inv PERIOD 2026-06-30", "", "", "", "", "", ""), one("51", "20260630-051", "2026-06-30"); !slices.Equal(got, want) {
			t.Errorf("the next one: %q, want %q", got, want)
		}
		got := redisSays(t, at, "SNOWRAFT.NEXT inv PERIOD 2026-07-01", "", "", "", "", "", "")
		if n, err := strconv.Atoi(got[2]); err != nil || n < 4 || got[6] != "2026-07-01" {
			t.Errorf("after the end of a period: %q", got)
		}
		for command, want := range map[string]string{
			"SNOWRAFT.NEXT inv PERIOD 2026-06-29": "is not known", "SNOWRAFT.NEXT inv PERIOD 2026-05-01": "closed",
			"SNOWRAFT.NEXT inv FROM 5": "without a period", "SNOWRAFT.NEXT inv PERIOD 2026-07": "a day, such as",
		} {
			if got := redisSays(t, at, command)[0]; !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
	})
}
