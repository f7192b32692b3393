package cluster

import (
	"testing"
)

func trioBehind(t *testing.T, front func(*testing.T, string) *middlebox, numbers ...int) []*host {
	t.Helper()
	first := startBehind(t, front, "a", 3, nil, numbers...)
	hosts := []*host{first}
	for _, name := range []string{"b", "c"} {
		hosts = append(hosts, startBehind(t, front, name, 3, []string{first.meta().Gossip}, numbers...))
	}
	together(t, hosts)
	return hosts
}
