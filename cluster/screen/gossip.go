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
	// maxGossipName has room for a node's ID and the identifier of its process.
	maxGossipName = 64
	maxMeta       = 512 // memberlist.MetaMaxSize
	maxAck        = 256
	// versions is the number of versions that memberlist reads if there are any; memberlist 0.6.0 panics over fewer.
	versions = 6
)

// address accepts an IP address or none. memberlist would resolve a longer one by DNS.
var address = textOf(func(n int) bool { return n == 0 || n == 4 || n == 16 })

var (
	uint16s = natural(math.MaxUint16, nil)
	uint32s = natural(math.MaxUint32, nil)
	names   = text(maxGossipName)
	sixOf   = textOf(func(n int) bool { return n == versions })
)

// source adds the fields of a ping that describe its sender.
func source(f fields) fields {
	f["SourceAddr"], f["SourcePort"], f["SourceNode"] = address, uint16s, names
	return f
}

// datagrams lists the messages that a datagram may hold, by type. User messages are not listed: their content is not checked.
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

// nodeState accepts one node in an exchange of states.
var nodeState = object(fields{
	"Name": names, "Addr": address, "Port": uint16s, "Meta": text(maxMeta), "Incarnation": uint32s,
	"State": natural(math.MaxUint8, nil), "Vsn": sixOf,
}, "Vsn")

// pushPull accepts an exchange of the states of at most the given number of nodes. Members add no user state.
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
