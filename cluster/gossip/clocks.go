package gossip

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/memberlist"
)

// Each node requests the clocks of the other members. memberlist's own probes could carry clocks too, but are unsuitable:
// memberlist matches an acknowledgement by a small number that recurs in every process, so a recorded one could be replayed.
// Also, memberlist probes one name per second, and after restarts most names belong to earlier starts.
//
// A question holds its kind, a random number and the ID of the node that asks. The answer holds its kind, that number, a wall
// clock in Unix milliseconds and the ID of the node that answers. Because of that ID, a question delivered to another member
// does not make that member's clock count as the clock of the intended member. Both are memberlist user messages.
const (
	clockQuestion = 'q'
	clockAnswer   = 'a'

	questionHead = 1 + 8
	answerHead   = 1 + 8 + 8
)

// clockAsked is a question in progress.
type clockAsked struct {
	id string
	at int64 // time of sending; same scale as clock.Reading.Mono
	// sent is the same time on the machine's clock, which has a finer resolution.
	sent time.Time
}

// RequestClocks requests the clocks of all members that gossip reaches, and forgets earlier questions: an answer that takes so
// long is too imprecise.
func (g *View) RequestClocks() {
	asked, now := make(map[uint64]clockAsked), g.watch.Now().Mono
	to := make(map[uint64]memberlist.Address)
	g.mu.Lock()
	for id, p := range g.peers {
		if member, _ := g.standing(id); member && p.Alive {
			number := rand.Uint64()
			asked[number] = clockAsked{id: id, at: now, sent: time.Now()}
			to[number] = p.GossipAddress()
		}
	}
	for _, q := range g.asked {
		if now-q.at >= min(unansweredAfter, g.interval/2).Milliseconds() {
			g.probes.add(q.id, ProbeFailures{UDP: 1})
		}
	}
	g.asked = asked
	g.mu.Unlock()
	for number, address := range to {
		question := binary.BigEndian.AppendUint64([]byte{clockQuestion}, number)
		g.SendTo(address, append(question, g.self().ID...))
	}
}

// GossipAddress returns the address of the gossip port of a node's process.
func (p Peer) GossipAddress() memberlist.Address {
	m := p.Known()
	return memberlist.Address{Addr: m.Gossip, Name: m.GossipName()}
}

// SendTo sends a message, which may get lost.
func (g *View) SendTo(to memberlist.Address, message []byte) {
	if err := g.list.SendToAddress(to, message); err != nil {
		g.logger.Debug("message about clocks not sent", "address", to.Addr, "error", err)
	}
}

// NotifyMsg implements memberlist.Delegate. It handles questions for this node's clock, answers to this node's questions, and
// refusals to add this node.
func (g *View) NotifyMsg(message []byte) {
	switch {
	case len(message) > 1 && g.Handlers[message[0]] != nil:
		g.Handlers[message[0]](message[1:])
	case len(message) > questionHead && message[0] == clockQuestion:
		g.mu.Lock()
		p, known := g.peers[string(message[questionHead:])]
		open := g.list != nil
		g.mu.Unlock()
		if known && open {
			answer := append([]byte{clockAnswer}, message[1:questionHead]...)
			answer = binary.BigEndian.AppendUint64(answer, uint64(g.watch.Now().Wall)) //nolint:gosec // the bits are what matters
			g.SendTo(p.GossipAddress(), append(answer, g.self().ID...))
		}
	case len(message) > answerHead && message[0] == clockAnswer:
		number := binary.BigEndian.Uint64(message[1:])
		g.mu.Lock()
		q, ours := g.asked[number]
		if ours = ours && q.id == string(message[answerHead:]); ours {
			delete(g.asked, number)
		}
		g.mu.Unlock()
		if !ours {
			return
		}
		if member, voter := g.standing(q.id); member {
			wall := int64(binary.BigEndian.Uint64(message[questionHead:answerHead])) //nolint:gosec // the same conversion
			if g.roundTrip != nil {
				g.roundTrip(q.id, time.Since(q.sent))
			}
			g.watch.ObserveMember(q.id, wall, time.Duration(g.watch.Now().Mono-q.at)*time.Millisecond, voter)
		}
	}
}
