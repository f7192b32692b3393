package server

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/server/frontend"
)

const (
	// movedInterval is the time between two lookups of the advertised host.
	movedInterval = 30 * time.Second
	// movedLogged is the number of lookups from one log line about a move to the next.
	movedLogged = 20
)

var descMoved = frontend.Desc("address_outdated", "1 while the advertised host has other addresses than the one that other members gossip with, otherwise 0. Restart the member.")

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

	away  atomic.Bool
	looks int // since the last log line
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
			m.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look compares the addresses once. A host that cannot be resolved, or resolves to this machine only, has not moved.
func (m *moved) look(ctx context.Context) {
	found, err := m.lookup(ctx, m.host)
	if err != nil || len(found) == 0 || found[0].IP.IsLoopback() {
		return
	}
	away := !slices.ContainsFunc(found, func(a net.IPAddr) bool { return a.IP.Equal(m.ip) })
	m.looks++
	if before := m.away.Swap(away); !away || before && m.looks < movedLogged {
		return
	}
	var now []string
	for _, a := range found {
		now = append(now, a.String())
	}
	m.looks = 0
	m.logger.Warn("address of this member changed, and other members gossip with the former one; restart this member",
		"host", m.host, "former", m.ip, "address", strings.Join(now, ","))
	m.events.Note(events.Process, slog.LevelWarn, m.host+" has another address; restart this member")
}
