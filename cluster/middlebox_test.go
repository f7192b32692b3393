package cluster

import (
	"testing"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

func trioBehind(t *testing.T, front func(*testing.T, string) *clusterkit.Middlebox, numbers ...int) []*host {
	t.Helper()
	first := startBehind(t, front, "a", 3, nil, numbers...)
	hosts := []*host{first}
	for _, name := range []string{"b", "c"} {
		hosts = append(hosts, startBehind(t, front, name, 3, []string{first.meta().Gossip}, numbers...))
	}
	together(t, hosts)
	return hosts
}
