package server_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// warnings delivers the warnings about initial settings that pass through a handler.
type warnings struct {
	slog.Handler
	seen chan string
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && strings.HasPrefix(r.Message, "initial setting ignored") {
		var text string
		r.Attrs(func(a slog.Attr) bool {
			text += a.String() + " "
			return true
		})
		w.seen <- text
	}
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs), w.seen}
}

// A member logs a warning about an initial setting without effect: as the leader of its old cluster after a change of the
// configuration, and as a joining member.
func TestIgnoredInitialSettingsAreLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		watch := func(c *server.Config) chan string {
			w := warnings{c.Logger.Handler(), make(chan string, 10)}
			c.Logger = slog.New(w)
			return w.seen
		}
		n := newNode(t, "a", func(c *server.Config) { c.BootstrapExpect = 1 })
		n.start().untilReady()
		if _, err := n.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{MaxWindowMs: new(int64(120_000))}}); err != nil {
			t.Fatal(err)
		}
		n.stop()
		n.cfg.MaxWindow = time.Minute
		seen := watch(&n.cfg)
		n.start()
		if got, want := <-seen, "setting=max-window given=1m0s cluster=2m0s command=snowraft config set --max-window 1m0s "; got != want {
			t.Errorf("the second start warned of %s, want %s", got, want)
		}
		var joined chan string
		b := newNode(t, "b", func(c *server.Config) {
			c.Join, c.Rollback = []string{n.server.GossipAddr()}, "swap"
			joined = watch(c)
		})
		b.start()
		if got, want := <-joined, "setting=rollback given=swap cluster=refuse command=snowraft config set --rollback swap "; got != want {
			t.Errorf("the member that joins warned of %s, want %s", got, want)
		}
	})
}
