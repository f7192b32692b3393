package server_test

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server"
)

// A gossip host that is no address must not end up as all interfaces.
func TestGossipHostThatCannotBeResolved(t *testing.T) {
	t.Parallel()
	host := strings.Repeat("a", 300) // too long for a name, so that nobody is asked for it
	s, err := server.Open(t.Context(), server.Config{
		Name: "m1", DataDir: t.TempDir(),
		APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: host + ":0",
	})
	if err == nil {
		_ = s.Close(t.Context())
		t.Fatal("it listens all the same")
	}
	if !strings.Contains(err.Error(), "--gossip-addr "+host) {
		t.Errorf("%v does not name the setting", err)
	}
}
