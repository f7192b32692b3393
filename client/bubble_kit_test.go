package client_test

import (
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/test/bubble"
	"github.com/snowraft/snowraft/internal/test/memnet"
	"github.com/snowraft/snowraft/server"
)

// networks holds the networks of tests in synthetic time.
var networks sync.Map // *memnet.Host by testing.TB

// inBubble runs a test in synthetic time, with its hosts and applications on a network in memory.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		networks.Store(t, memnet.New().Host("127.0.0.1"))
		t.Cleanup(func() { networks.Delete(t) })
		test(t)
	})
}

// networkOf returns the network of a test in synthetic time; nil for the machine's network.
func networkOf(t testing.TB) server.Network {
	if host, ok := networks.Load(t); ok {
		return host.(server.Network)
	}
	return nil
}

// needsBubble fails a test that starts several members in real time, because a busy machine would take them apart.
func needsBubble(t testing.TB, size int) {
	t.Helper()
	if _, test := t.(*testing.T); test && size > 1 && networkOf(t) == nil {
		t.Fatal("a cluster of several members in real time; use inBubble")
	}
}
