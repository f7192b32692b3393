package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"
)

// meta is the information that a node sends about itself, in gossip and in the
// handshake of every Raft connection.
type meta struct {
	ID      string `json:"i"`
	Name    string `json:"n"`
	Cluster string `json:"c,omitempty"` // empty: of no cluster yet
	Starts  uint64 `json:"s"`
	// Process differs between processes, also between those that have copies of one data directory.
	Process string `json:"p"`
	Raft    string `json:"r"`
	API     string `json:"a,omitempty"`
	Gossip  string `json:"g,omitempty"`
	Version string `json:"v,omitempty"`
	// Commands is the newest fsm_version that the node supports.
	Commands uint32 `json:"f"`
	// Keys are the fingerprints of the secrets that the node knows, with commas between; empty if it is open.
	Keys string `json:"k,omitempty"`
	// Expect and Quorum are for bootstrap: how many nodes this one waits for,
	// and a digest of the set of nodes that it would start a cluster with.
	Expect int    `json:"e,omitempty"`
	Quorum string `json:"q,omitempty"`
	// Nonvoter: the node is never to become a voter.
	Nonvoter bool `json:"o,omitempty"`
	// ForceName: the node is to join although a member has its name.
	ForceName bool `json:"x,omitempty"`
	// Hears: the node hears a process of a cluster that its cluster was restored from.
	Hears bool `json:"h,omitempty"`
	// Halted: the node must not go on. Its process ends, and the others know why it is gone.
	Halted bool `json:"z,omitempty"`
}

const (
	// maxMeta is memberlist's limit.
	maxMeta = 512
	// roomForMeta is the number of bytes by which a node's metadata grows after its start: with a cluster and a quorum, and with more secrets.
	roomForMeta = 130
	// maxProcess is the most that is read of a process's number, in bytes.
	maxProcess = 16
	// maxKeys is the most secrets that a file holds.
	maxKeys = 4
)

func (m meta) encode() []byte {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return raw
}

// decodeMeta reads what a peer sent; it can be anything.
func decodeMeta(raw []byte) (meta, error) {
	var m meta
	if len(raw) > maxMeta {
		return m, fmt.Errorf("metadata of %d bytes: expected at most %d bytes", len(raw), maxMeta)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("metadata: %w", err)
	}
	if uuid.Validate(m.ID) != nil || (m.Cluster != "" && uuid.Validate(m.Cluster) != nil) {
		return m, fmt.Errorf("metadata: bad ID %q or cluster ID %q", m.ID, m.Cluster)
	}
	if len(m.fingerprints()) > maxKeys {
		return m, fmt.Errorf("metadata: %d secrets", len(m.fingerprints()))
	}
	if m.Process == "" || len(m.Process) > maxProcess {
		return m, fmt.Errorf("metadata: bad process %q", m.Process)
	}
	if m.Raft == "" || !utf8.Valid(raw) {
		return m, fmt.Errorf("metadata: no Raft address")
	}
	return m, nil
}

// gossipName is a node's name in gossip. It differs between processes, so that a
// node that comes back elsewhere does not have to wait until its old address
// was declared dead.
func (m meta) gossipName() string { return m.ID + "/" + m.Process }

// newProcess draws the number of a process.
func newProcess() string {
	raw := uuid.New()
	return base64.RawURLEncoding.EncodeToString(raw[:6])
}
