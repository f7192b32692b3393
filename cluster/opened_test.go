package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A node that has had a secret starts without a secret only with Insecure, and then logs a warning.
func TestSecuredDirectoryNeedsItsSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const warning = "secured data directory opened without a secret"
	for i, c := range []struct {
		secret, insecure bool
		want             error
		warns            bool
	}{
		{want: nil}, // an open node, until it is secured
		{secret: true},
		{want: ErrSecured},
		{insecure: true, warns: true},
		{want: ErrSecured},
		{secret: true},
	} {
		var log strings.Builder
		mem := raft.NewInmemStore()
		n, err := tryAlone(t, mem, mem, func(cfg *Config) {
			cfg.DataDir, cfg.Insecure, cfg.Storage = dir, c.insecure, nil
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if c.secret {
				cfg.Keys = clusterkit.Keys(t, 0)
			}
		})
		if err == nil {
			err = errors.Join(err, n.Close(t.Context()))
		}
		if !errors.Is(err, c.want) || strings.Contains(log.String(), warning) != c.warns {
			t.Errorf("start %d: %v, want %v; %s", i, err, c.want, log.String())
		}
	}
}
