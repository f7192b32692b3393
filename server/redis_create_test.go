package server_test

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// The configuration of the cluster decides what an INCR creates, at members and gateways. The default is nothing.
func TestIncrementCreatesByConfig(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" })
		g := inFront(t, nodes)
		incr := map[string]func(key string) string{"gateway": func(key string) string { return g.redis("INCR " + key) }}
		for _, n := range nodes {
			incr[n.cfg.Name] = func(key string) string { return redisLine(t, n.server.RedisAddr(), "INCR "+key) }
		}
		refused := func(at, key string) {
			t.Helper()
			if got, want := incr[at](key), `-ERR sequence "`+key+`" does not exist; create it with "snowraft seq create `+key+`"`; !strings.HasPrefix(got, want) {
				t.Errorf("INCR %s at %s: %q, want %q", key, at, got, want)
			}
		}
		for at := range incr {
			refused(at, "default")
		}
		for _, c := range []struct {
			create snowraftv1.AutoCreate
			mode   snowraftv1.SequenceMode
		}{
			{snowraftv1.AutoCreate_AUTO_CREATE_RELAXED, snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
			{snowraftv1.AutoCreate_AUTO_CREATE_STRICT, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
		} {
			configure(t, nodes[0], c.create)
			for at := range incr {
				key := at + "-" + c.mode.String()
				until(t, at+" creates sequences", func() bool { return incr[at](key) == ":1" })
				resp, err := leader(t, nodes).sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: key})
				if err != nil || resp.GetSequence().GetMode() != c.mode {
					t.Errorf("INCR at %s created %v, %v; want %v", at, resp.GetSequence(), err, c.mode)
				}
			}
		}
		configure(t, nodes[0], snowraftv1.AutoCreate_AUTO_CREATE_OFF)
		for at := range incr {
			refused(at, "off-again")
		}
		if got := incr["gateway"]("gateway-" + snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT.String()); got != ":2" {
			t.Errorf("INCR of a sequence that exists: %q", got)
		}
	})
}
