package network

import "fmt"

// Traffic is which packets of a direction a fault is about.
type Traffic string

// The kinds of traffic, by the ports that members have by default.
const (
	All     Traffic = "all"
	Raft    Traffic = "raft"    // Raft's messages, and the answers to them
	Gossip  Traffic = "gossip"  // the gossip, by UDP and TCP
	Replies Traffic = "replies" // the answers of gRPC, HTTP and Redis, to clients and to members that forward requests
)

// How is what becomes of a packet that does not arrive.
type How string

const (
	// Drop loses it without a word.
	Drop How = "drop"
	// Reject tells the sender: a TCP connection is reset, a datagram answered with
	// ICMP's "port unreachable". Resets themselves pass, as otherwise two hosts that
	// reject each other's packets would hear nothing.
	Reject How = "reject"
)

// A match is a protocol with a port that packets come from or go to; the zero port
// is none.
type match struct {
	protocol string // "" is all
	from, to int
}

// matches returns what packets of the traffic are like; each is like one of them.
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
	return nil, fmt.Errorf("the traffic %q is none of all, raft, gossip and replies", string(t))
}

// arguments are those of iptables.
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

// targets returns the ends of the rules for what is like m: further matches, and
// what to do.
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
	return nil, fmt.Errorf("a packet can't be treated with %q: it is neither drop nor reject", string(h))
}
