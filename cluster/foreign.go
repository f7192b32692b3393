package cluster

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/trust"
)

var (
	errSecuredPeer = errors.New("the peer encrypts, and this member has no cluster secret: restart this member with --secret-file, " +
		"with the file that the peer uses")
	errOpenPeer  = errors.New("the peer does not encrypt: restart the peer with --secret-file, with the file that this member uses")
	errOtherKeys = errors.New("the peer has another cluster secret: copy one secret file to both members")
)

const (
	// maxForeign bounds the hosts that are remembered.
	maxForeign = 32
	// foreignKept is for how long after it was heard last.
	foreignKept = time.Minute
	// foreignLogged is how long after a line in the log the next one about the same host follows.
	foreignLogged = 10 * time.Minute
)

// ForeignPeer is a peer that this member cannot understand: one of the two is open, or their secrets differ.
type ForeignPeer struct {
	Address string // host
	Problem string // with what to do
	At      time.Time
}

// foreign remembers the peers that this member cannot understand, and logs each now and then.
type foreign struct {
	logger *slog.Logger

	mu    sync.Mutex
	heard map[string]heardForeign // by host
}

type heardForeign struct {
	ForeignPeer
	logged time.Time
}

func newForeign(logger *slog.Logger) *foreign {
	return &foreign{logger: logger, heard: make(map[string]heardForeign)}
}

// note takes an error of a connection or of a message from an address.
func (f *foreign) note(from net.Addr, err error) {
	problem := misunderstanding(err)
	if problem == nil || from == nil {
		return
	}
	host, _, splitErr := net.SplitHostPort(from.String())
	if splitErr != nil {
		host = from.String()
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h, known := f.heard[host]
	if !known && len(f.heard) >= maxForeign {
		f.expire(now)
		if len(f.heard) >= maxForeign {
			return
		}
	}
	again := h.Problem != problem.Error() || now.Sub(h.logged) >= foreignLogged
	h.ForeignPeer = ForeignPeer{Address: host, Problem: problem.Error(), At: now}
	if again {
		h.logged = now
		f.logger.Warn("peer cannot be understood", "address", from, "reason", problem)
	}
	f.heard[host] = h
}

// misunderstanding is what an error says about the other side's secret; nil if nothing.
func misunderstanding(err error) error {
	var plain tls.RecordHeaderError
	var stranger *trust.StrangerError
	switch {
	case errors.Is(err, errSecuredPeer), errors.Is(err, screen.ErrSealed):
		return errSecuredPeer
	case errors.Is(err, errOpenPeer), errors.Is(err, screen.ErrUnsealed), errors.As(err, &plain) && strings.HasPrefix(handshakeMagic, string(plain.RecordHeader[:])):
		return errOpenPeer
	case errors.Is(err, screen.ErrOtherKey), errors.As(err, &stranger), trust.Refused(err):
		return errOtherKeys
	}
	return nil
}

// expire forgets those that were not heard lately and need no more silence in the log. Call it with the lock.
func (f *foreign) expire(now time.Time) {
	maps.DeleteFunc(f.heard, func(_ string, h heardForeign) bool { return now.Sub(h.At) > foreignLogged })
}

// ForeignPeers lists the peers that were heard in the last minute and that this member cannot understand.
func (n *Node) ForeignPeers() []ForeignPeer {
	f := n.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	var peers []ForeignPeer
	for _, host := range slices.Sorted(maps.Keys(f.heard)) {
		if h := f.heard[host]; time.Since(h.At) <= foreignKept {
			peers = append(peers, h.ForeignPeer)
		}
	}
	return peers
}
