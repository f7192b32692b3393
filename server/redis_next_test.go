package server_test

import (
	"regexp"
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
