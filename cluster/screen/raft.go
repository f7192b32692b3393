package screen

import (
	"bytes"
	"math"

	"github.com/hashicorp/raft"
)

const (
	// MaxEntries is the greatest number of log entries in one message.
	MaxEntries = 64
	// MaxCommand bounds the data of one log entry, in bytes.
	MaxCommand = 64 << 10
	// MaxServers bounds the number of servers in a Raft configuration.
	MaxServers = 256
	// MaxSnapshot bounds a snapshot, in bytes. A snapshot is written to the disk as it arrives.
	MaxSnapshot = 4 << 30

	maxRaftID      = 64
	maxRaftAddress = 1 << 10
	maxAnswer      = 16 << 10
	maxRequest     = MaxEntries*(MaxCommand+1<<10) + maxAnswer
)

// The types of raft's requests, from its net_transport.go.
const (
	kindAppend byte = iota
	kindVote
	kindSnapshot
	kindTimeoutNow
	kindPreVote
)

var uint64s = natural(math.MaxUint64, nil)

// headed adds the fields that all of raft's requests have. It requires this protocol version: raft does not read the snapshot
// behind a request of another version, and would then read the snapshot as requests.
func headed(f fields) fields {
	f["ProtocolVersion"] = between(uint64(raft.ProtocolVersionMax), uint64(raft.ProtocolVersionMax), nil)
	f["ID"], f["Addr"] = text(maxRaftID), text(maxRaftAddress)
	return f
}

var entry = object(fields{
	"Index": uint64s, "Term": uint64s, "Type": natural(math.MaxUint8, nil),
	"Data": text(MaxCommand), "Extensions": text(64), "AppendedAt": text(32),
})

var requests = map[byte]rule{
	kindAppend: object(headed(fields{
		"Term": uint64s, "Leader": text(maxRaftAddress), "PrevLogEntry": uint64s, "PrevLogTerm": uint64s,
		"Entries": list(MaxEntries, entry), "LeaderCommitIndex": uint64s,
	}), "ProtocolVersion"),
	kindVote: object(headed(fields{
		"Term": uint64s, "Candidate": text(maxRaftAddress), "LastLogIndex": uint64s, "LastLogTerm": uint64s, "LeadershipTransfer": boolean,
	}), "ProtocolVersion"),
	kindPreVote:    object(headed(fields{"Term": uint64s, "LastLogIndex": uint64s, "LastLogTerm": uint64s}), "ProtocolVersion"),
	kindTimeoutNow: object(headed(fields{}), "ProtocolVersion"),
}

// snapshot takes the request before a snapshot, and stores the snapshot's size in bytes.
func snapshot(size *uint64) rule {
	return object(headed(fields{
		"SnapshotVersion": natural(math.MaxUint8, nil), "Term": uint64s, "Leader": text(maxRaftAddress),
		"LastLogIndex": uint64s, "LastLogTerm": uint64s, "Peers": text(MaxCommand),
		"Configuration": text(MaxCommand), "ConfigurationIndex": uint64s, "Size": natural(MaxSnapshot, size),
	}), "ProtocolVersion")
}

// request takes one of raft's requests, and returns the number of bytes of a snapshot that follow it.
func request(s *scanner) (follow int64, err error) {
	kind, err := s.byte()
	if err != nil {
		return 0, err
	}
	if kind == kindSnapshot {
		var size uint64
		err := snapshot(&size)(s)
		return int64(size), err
	}
	take := requests[kind]
	if take == nil {
		return 0, refuse("a request of type %d", kind)
	}
	return 0, take(s)
}

var (
	problem = text(maxAnswer / 2)
	result  = optional(fields{
		"ProtocolVersion": natural(math.MaxUint8, nil), "ID": text(maxRaftID), "Addr": text(maxRaftAddress), "Term": uint64s,
		"LastLog": uint64s, "Success": boolean, "NoRetryBackoff": boolean, "Granted": boolean, "Peers": text(maxRaftAddress),
	})
)

// answer takes one of raft's answers: an error, which may be empty, and a result.
func answer(s *scanner) (follow int64, err error) {
	if err := problem(s); err != nil {
		return 0, err
	}
	return 0, result(s)
}

var configuration = object(fields{
	"Servers": list(MaxServers, object(fields{
		"Suffrage": natural(math.MaxUint8, nil), "ID": text(maxRaftID), "Address": text(maxRaftAddress),
	})),
})

// Configuration checks and decodes a Raft configuration of at most MaxServers servers. The error wraps ErrRefused. Raft itself
// panics over other bytes.
func Configuration(raw []byte) (raft.Configuration, error) {
	from := bytes.NewReader(raw)
	if err := configuration(&scanner{from: from, limit: len(raw)}); err != nil {
		return raft.Configuration{}, refuse("a configuration: %v", err)
	}
	return raft.DecodeConfiguration(raw), nil
}
