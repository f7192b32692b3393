package screen

import (
	"math"
)

// The types of memberlist's messages, from its net.go.
const (
	kindPing byte = iota
	kindIndirectPing
	kindAck
	kindSuspect
	kindAlive
	kindDead
	kindPushPull
	kindCompound
	kindUser
	kindCompressed
	kindEncrypted
	kindNack
	kindChecked
	kindError

	kindLabel byte = 244
)

const (
	// maxGossipName has room for a node's ID and the number of its start.
	maxGossipName = 64
	maxMeta       = 512 // memberlist.MetaMaxSize
	maxAck        = 256
	// versions is how many memberlist reads whenever there is one; 0.6.0 panics over fewer.
	versions = 6
)

// address takes an IP address. memberlist would look a longer one up in the DNS.
var address = textOf(func(n int) bool { return n == 0 || n == 4 || n == 16 })

var (
	uint16s = natural(math.MaxUint16, nil)
	uint32s = natural(math.MaxUint32, nil)
	names   = text(maxGossipName)
	sixOf   = textOf(func(n int) bool { return n == versions })
)

// source is the sender in a ping.
func source(f fields) fields {
	f["SourceAddr"], f["SourcePort"], f["SourceNode"] = address, uint16s, names
	return f
}

// datagrams lists the messages that a datagram may hold, by type. Of a user message only the length is looked at.
var datagrams = map[byte]rule{
	kindPing:         object(source(fields{"SeqNo": uint32s, "Node": names})),
	kindIndirectPing: object(source(fields{"SeqNo": uint32s, "Node": names, "Target": address, "Port": uint16s, "Nack": boolean})),
	kindAck:          object(fields{"SeqNo": uint32s, "Payload": text(maxAck)}),
	kindNack:         object(fields{"SeqNo": uint32s}),
	kindSuspect:      object(fields{"Incarnation": uint32s, "Node": names, "From": names}),
	kindDead:         object(fields{"Incarnation": uint32s, "Node": names, "From": names}),
	kindAlive: object(fields{
		"Incarnation": uint32s, "Node": names, "Addr": address, "Port": uint16s, "Meta": text(maxMeta), "Vsn": sixOf,
	}, "Vsn"),
}

// nodeState is one node in an exchange of states.
var nodeState = object(fields{
	"Name": names, "Addr": address, "Port": uint16s, "Meta": text(maxMeta), "Incarnation": uint32s,
	"State": natural(math.MaxUint8, nil), "Vsn": sixOf,
}, "Vsn")

// pushPull takes an exchange of the states of at most so many nodes. Members add no state of their own.
func pushPull(most int) rule {
	return func(s *scanner) error {
		var nodes uint64
		head := object(fields{"Nodes": natural(uint64(most), &nodes), "UserStateLen": natural(0, nil), "Join": boolean}) //nolint:gosec // a limit of ours
		err := head(s)
		for ; err == nil && nodes > 0; nodes-- {
			err = nodeState(s)
		}
		return err
	}
}
