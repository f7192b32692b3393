package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/server/kernel"
)

const (
	// movedInterval is the time between two lookups of the advertised host.
	movedInterval = 30 * time.Second
	// movedLogged is the number of lookups from one log line about a move to the next.
	movedLogged = 20
)

var descMoved = kernel.Desc("address_outdated", "1 while the advertised host has other addresses than the one that other members gossip with, otherwise 0. Restart the member.")

// moved compares the addresses of the advertised host with the one that other members gossip with. That address stays until the
// process exits, so a member whose host moved must be restarted.
type moved struct {
	host   string
	ip     net.IP
	lookup func(ctx context.Context, host string) ([]net.IPAddr, error)
	logger *slog.Logger
	events interface {
		Note(events.Kind, slog.Level, string)
	}

	away  atomic.Pointer[string] // the present addresses; nil while the former one is among them
	looks int                    // since the last log line
}

// run looks at intervals until ctx ends. The address of a host that is an IP address cannot change.
func (m *moved) run(ctx context.Context) {
	if net.ParseIP(m.host) != nil {
		return
	}
	tick := time.NewTicker(movedInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.compareAddresses(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// compareAddresses compares the addresses once. A host that cannot be resolved, or resolves to this machine only, has not moved.
func (m *moved) compareAddresses(ctx context.Context) {
	found, err := m.lookup(ctx, m.host)
	if err != nil || len(found) == 0 || found[0].IP.IsLoopback() {
		return
	}
	away := !slices.ContainsFunc(found, func(a net.IPAddr) bool { return a.IP.Equal(m.ip) })
	m.looks++
	if !away {
		m.away.Store(nil)
		return
	}
	var all []string
	for _, a := range found {
		all = append(all, a.String())
	}
	now := strings.Join(all, ",")
	if before := m.away.Swap(&now); before != nil && m.looks < movedLogged {
		return
	}
	m.looks = 0
	m.logger.Warn("address of this member changed, and other members gossip with the former one; restart this member",
		"host", m.host, "former", m.ip, "address", now)
	m.events.Note(events.Process, slog.LevelWarn, m.host+" has another address; restart this member")
}

// problem returns the reason that this member must be restarted; empty while its host has the former address.
func (m *moved) problem() string {
	now := m.away.Load()
	if now == nil {
		return ""
	}
	return fmt.Sprintf("other members gossip with %s, and %s now has the address %s", m.ip, m.host, *now)
}
