package cluster

import (
	"encoding/binary"
	"time"

	"github.com/hashicorp/memberlist"
)

const ackSize = 8 + 8 + 8 + 4

// AckPayload implements memberlist.PingDelegate: our clock, and how far our log goes.
func (g *gossip) AckPayload() []byte {
	s := g.stats()
	b := make([]byte, 0, ackSize)
	b = binary.BigEndian.AppendUint64(b, uint64(g.watch.Now().Wall)) //nolint:gosec // the bits are what matters
	b = binary.BigEndian.AppendUint64(b, s.lastIndex)
	b = binary.BigEndian.AppendUint64(b, s.lastTerm)
	ms := min(max(s.lastContact.Milliseconds(), 0), 1<<31)
	return binary.BigEndian.AppendUint32(b, uint32(ms))
}

// NotifyPingComplete implements memberlist.PingDelegate.
func (g *gossip) NotifyPingComplete(n *memberlist.Node, rtt time.Duration, payload []byte) {
	m, err := decodeMeta(n.Meta)
	if err != nil || len(payload) != ackSize || g.compatible(m) != nil {
		return
	}
	if member, voter := g.standing(m.ID); member {
		g.watch.ObserveMember(m.ID, int64(binary.BigEndian.Uint64(payload)), rtt, voter) //nolint:gosec // the bits are what matters
	}
	own := g.stats()
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.peers[m.ID]; ok && p.meta.Starts == m.Starts {
		p.own, p.stats = own, peerStats{
			lastIndex:   binary.BigEndian.Uint64(payload[8:]),
			lastTerm:    binary.BigEndian.Uint64(payload[16:]),
			lastContact: time.Duration(binary.BigEndian.Uint32(payload[24:])) * time.Millisecond,
		}
		g.peers[m.ID] = p
	}
}
