package network

import "fmt"

// Traffic is the set of packets of a direction that a fault affects.
type Traffic string

// The kinds of traffic, identified by the default ports of members.
const (
	All     Traffic = "all"
	Raft    Traffic = "raft"    // Raft messages and their answers
	Gossip  Traffic = "gossip"  // gossip over UDP and TCP
	Replies Traffic = "replies" // gRPC, HTTP and Redis answers to clients and to members that forward requests
)

// How is the way in which a cut stops packets.
type How string

const (
	// Drop discards the packet silently.
	Drop How = "drop"
	// Reject discards the packet and notifies the sender: it resets a TCP connection, and answers a datagram with ICMP
	// "port unreachable". Resets pass a cut, because otherwise two hosts that reject each other's packets would receive
	// no notice.
	Reject How = "reject"
)

// A match selects packets by protocol and by source or destination port; port 0 matches every port.
type match struct {
	protocol string // "" for all protocols
	from, to int
}

// matches returns the matches that together select the packets of the traffic.
func (t Traffic) matches() ([]match, error) {
	switch t {
	case All:
		return []match{{}}, nil
	case Raft:
		return []match{{"tcp", 7702, 0}, {"tcp", 0, 7702}}, nil
	case Gossip:
		return []match{{"tcp", 7703, 0}, {"tcp", 0, 7703}, {"udp", 7703, 0}, {"udp", 0, 7703}}, nil
	case Replies:
		return []match{{"tcp", 7700, 0}, {"tcp", 7701, 0}, {"tcp", 7704, 0}}, nil
	}
	return nil, fmt.Errorf("traffic %q: expected all, raft, gossip or replies", string(t))
}

// arguments returns the arguments of iptables for the match.
func (m match) arguments() string {
	if m.protocol == "" {
		return ""
	}
	s := fmt.Sprintf(" -p %s -m %s", m.protocol, m.protocol)
	if m.from != 0 {
		s += fmt.Sprintf(" --sport %d", m.from)
	}
	if m.to != 0 {
		s += fmt.Sprintf(" --dport %d", m.to)
	}
	return s
}

// targets returns the ends of the rules for packets that match m: further matches and the target.
func (h How) targets(m match) ([]string, error) {
	const (
		reset       = " -m tcp --tcp-flags RST NONE -j REJECT --reject-with tcp-reset"
		unreachable = " -j REJECT --reject-with icmp-port-unreachable"
	)
	switch {
	case h == Drop:
		return []string{" -j DROP"}, nil
	case h == Reject && m.protocol == "tcp":
		return []string{reset}, nil
	case h == Reject && m.protocol == "udp":
		return []string{unreachable}, nil
	case h == Reject:
		return []string{" -p tcp" + reset, " -p udp" + unreachable}, nil
	}
	return nil, fmt.Errorf("how %q: expected drop or reject", string(h))
}
