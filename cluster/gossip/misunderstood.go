package gossip

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/slots"
)

const (
	// maxForeign bounds the number of remembered problems: of streams, and separately of datagrams.
	maxForeign = 32
	// foreignKept is the time for which a problem is listed after it last occurred.
	foreignKept = time.Minute
	// foreignLogged is the least time between two log lines about the same host and problem.
	foreignLogged = 10 * time.Minute
)

// ForeignPeer is a peer that this member cannot understand: one of the two is open, or their secrets differ.
type ForeignPeer struct {
	Address string    // host of the last contact, without a port
	Problem string    // text with the action to take
	At      time.Time // time of the last contact
}

// Misunderstood remembers the peers that this member cannot understand, and logs each at most once per foreignLogged. The source of
// a datagram can be forged. So peers heard only by datagrams have their own limits of memory and log lines, and take nothing
// from peers heard on a stream.
type Misunderstood struct {
	logger *slog.Logger

	streams, datagrams lines.Limit // limits of log lines

	mu    sync.Mutex
	heard map[foreignKey]heardForeign
}

// foreignKey is a host (for IPv6, its network) and its problem. Several members with different problems may share a host.
type foreignKey struct {
	origin  netip.Prefix
	problem string
}

type heardForeign struct {
	host       string
	at, logged time.Time // logged: zero if never
	stream     bool      // heard on a stream
}

// NewMisunderstood returns an empty memory, which logs to logger.
func NewMisunderstood(logger *slog.Logger) *Misunderstood {
	return &Misunderstood{logger: logger, heard: make(map[foreignKey]heardForeign)}
}

// Note records an error of a connection or of a message from an address, if it reveals a problem with a secret.
func (f *Misunderstood) Note(from net.Addr, err error) {
	problem := peer.Misunderstanding(err)
	if problem == nil || from == nil {
		return
	}
	_, datagram := from.(*net.UDPAddr)
	key, now := foreignKey{slots.Origin(from), problem.Error()}, time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h, known := f.heard[key]
	if !known || !datagram && !h.stream {
		h.stream = !datagram
		f.forgetOldest(h.stream)
	}
	h.host, h.at = peer.Host(from), now
	if (h.logged.IsZero() || now.Sub(h.logged) >= foreignLogged) && f.allowLine(h.stream) {
		h.logged = now
		f.logger.Warn("peer cannot be understood", "address", from, "reason", problem)
	}
	f.heard[key] = h
}

// forgetOldest forgets the least recently heard peer of a kind if there are too many of that kind. Requires f.mu held.
func (f *Misunderstood) forgetOldest(stream bool) {
	var count int
	var oldest foreignKey
	var at time.Time
	for key, h := range f.heard {
		if h.stream != stream {
			continue
		}
		if count == 0 || h.at.Before(at) {
			oldest, at = key, h.at
		}
		count++
	}
	if count >= maxForeign {
		delete(f.heard, oldest)
	}
}

// allowLine reports whether a line about a stream or a datagram may be logged now. If so, the line counts against its limit.
func (f *Misunderstood) allowLine(stream bool) bool {
	if stream {
		return f.streams.Allow()
	}
	return f.datagrams.Allow()
}

// List returns the peers that were heard in the last minute.
func (f *Misunderstood) List() []ForeignPeer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var peers []ForeignPeer
	for key, h := range f.heard {
		if time.Since(h.at) <= foreignKept {
			peers = append(peers, ForeignPeer{Address: h.host, Problem: key.problem, At: h.at})
		}
	}
	slices.SortFunc(peers, func(a, b ForeignPeer) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Problem, b.Problem))
	})
	return peers
}
