package main

import (
	"context"
	"os"

	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/sandbox"
)

// hosts is a network of hosts on this machine, which the suite cuts. Each host is a network namespace.
type hosts struct {
	net   *network.Net
	count int
}

// sandboxed reports whether this process runs in a network of its own.
func sandboxed() bool { return sandbox.Inside() }

// exitCode returns the exit code in the sandbox for one of the suite.
func exitCode(code int) int { return sandbox.Said(code) }

// inSandbox runs this program again in a network of its own, which needs root, and returns its exit code.
func inSandbox() (int, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	return sandbox.Run(program)
}

// newHosts makes the network in the sandbox.
func newHosts(ctx context.Context) (*hosts, error) {
	if err := sandbox.Settle(); err != nil {
		return nil, err
	}
	if err := network.Check(ctx); err != nil {
		return nil, err
	}
	net, err := network.New(ctx)
	return &hosts{net: net}, err
}

// add adds a host.
func (h *hosts) add(ctx context.Context, name string) (host, error) {
	h.count++
	added, err := h.net.AddHost(ctx, name, h.count)
	if err != nil {
		return host{}, err
	}
	return host{added.IP, added.Do}, nil
}

// cut drops all packets between a host and others, in both directions, until the function heal is called.
func (h *hosts) cut(ctx context.Context, name string, others []string, clients bool) (heal func(context.Context) error, err error) {
	if clients {
		others = append(others, network.Harness)
	}
	fault, err := h.net.Cut(ctx, network.Isolate(name, others), network.All, network.Drop)
	if err != nil {
		return nil, err
	}
	return fault.Heal, nil
}
