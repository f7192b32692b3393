package cluster

import (
	"errors"
	"net"
	"strconv"
	"testing"

	"github.com/hashicorp/raft"
)

func TestContactOfItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		expect int
		want   string
	}{
		{"member", 1, `gossip address of the answering member "a", already in the cluster; give the gossip address of the member to add`},
		{"waiting", 0, `gossip address of the answering member "a", which has not joined the cluster; send the request to a member of the cluster`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mem := raft.NewInmemStore()
			n := openAlone(t, mem, mem, func(cfg *Config) { cfg.BootstrapExpect = c.expect })
			t.Cleanup(closing(n))
			if c.expect > 0 {
				untilLeader(t, n)
			}
			for _, host := range []string{"127.0.0.1", "localhost"} {
				address := net.JoinHostPort(host, strconv.Itoa(n.cfg.GossipPort))
				want := address + ": " + c.want
				if _, _, err := n.Contact(t.Context(), address); !errors.Is(err, ErrOwnAddress) || err.Error() != want {
					t.Errorf("Contact() = %v, want %s", err, want)
				}
			}
		})
	}
}
