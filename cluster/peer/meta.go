package peer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/internal/names"
)

// Meta is the information that a node sends about itself, in gossip and in the
// handshake of every Raft connection.
type Meta struct {
	ID      string `json:"i"`
	Name    string `json:"n"`
	Cluster string `json:"c,omitempty"` // empty if the node has joined no cluster yet
	Starts  uint64 `json:"s"`
	// Process differs between all processes, even between processes with copies of one data directory.
	Process string `json:"p"`
	Raft    string `json:"r"`
	API     string `json:"a,omitempty"`
	// HTTP is the port of the HTTP listener, at the host of the API address; 0 if not known.
	HTTP    uint16 `json:"t,omitempty"`
	Gossip  string `json:"g,omitempty"`
	Version string `json:"v,omitempty"`
	// Commands is the newest fsm_version that the node supports.
	Commands uint32 `json:"f"`
	// Keys are the fingerprints of the secrets that the node knows, separated by commas; empty for an open node.
	Keys string `json:"k,omitempty"`
	// Expect and Quorum are for bootstrap: the number of nodes that start a cluster together, and a digest of the set of
	// nodes with which this node would start a cluster.
	Expect int    `json:"e,omitempty"`
	Quorum string `json:"q,omitempty"`
	// Nonvoter reports whether the node must never become a voter.
	Nonvoter bool `json:"o,omitempty"`
	// ForceName reports whether the node joins although a member has its name.
	ForceName bool `json:"x,omitempty"`
	// Hears reports whether the node hears a process of a cluster that its cluster was restored from.
	Hears bool `json:"h,omitempty"`
	// Halted reports whether the node has halted. Its process exits, and the other members can show the reason.
	Halted bool `json:"z,omitempty"`
	// Stalled reports whether the node is a voter that does not replicate, see Node.stalls.
	Stalled bool `json:"l,omitempty"`
	// Silent are the short IDs of the voters that are silent to this leader, separated by commas; see Node.silentToLeader.
	Silent string `json:"w,omitempty"`
}

const (
	// MaxMeta is memberlist's limit.
	MaxMeta = 512
	// RoomForMeta is the number of bytes by which a node's metadata may grow after its start: by a cluster, by a quorum or by
	// silent voters, by more secrets, and by what is wrong with it.
	RoomForMeta = 140
	// maxProcess is the greatest length of Process, in bytes.
	maxProcess = 16
	// MaxKeys is the greatest number of secrets in Keys.
	MaxKeys = 4
)

// Encode returns the form in which metadata are sent.
func (m Meta) Encode() []byte {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return raw
}

// DecodeMeta decodes and checks bytes from a peer, which can be arbitrary.
func DecodeMeta(raw []byte) (Meta, error) {
	var m Meta
	if len(raw) > MaxMeta {
		return m, fmt.Errorf("metadata of %d bytes: expected at most %d bytes", len(raw), MaxMeta)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("metadata: %w", err)
	}
	if uuid.Validate(m.ID) != nil || (m.Cluster != "" && uuid.Validate(m.Cluster) != nil) {
		return m, fmt.Errorf("metadata: bad ID %q or cluster ID %q", m.ID, m.Cluster)
	}
	if len(m.Fingerprints()) > MaxKeys {
		return m, fmt.Errorf("metadata: %d secrets", len(m.Fingerprints()))
	}
	if m.Process == "" || len(m.Process) > maxProcess {
		return m, fmt.Errorf("metadata: bad process %q", m.Process)
	}
	if m.Raft == "" || !utf8.Valid(raw) {
		return m, fmt.Errorf("metadata: no Raft address")
	}
	return m, m.checkTexts()
}

// checkTexts returns an error unless all texts are safe to print, and the name is one that a member may have.
func (m Meta) checkTexts() error {
	for noun, text := range map[string]string{
		"process": m.Process, "Raft address": m.Raft, "API address": m.API, "gossip address": m.Gossip, "version": m.Version,
		"fingerprints": m.Keys, "quorum": m.Quorum, "silent voters": m.Silent,
	} {
		if err := names.CheckText("metadata: "+noun, text); err != nil {
			return err
		}
	}
	return names.Check("metadata: name", m.Name)
}

// GossipName returns the node's name in gossip. It differs between processes, so that a node that returns at another address
// does not have to wait until its old address was declared dead.
func (m Meta) GossipName() string { return m.ID + "/" + m.Process }

// NewProcess returns a random identifier for a process.
func NewProcess() string {
	raw := uuid.New()
	return base64.RawURLEncoding.EncodeToString(raw[:6])
}

// HTTPAddress returns the address of the node's HTTP listener; empty if it is not known.
func (m Meta) HTTPAddress() string {
	host, _, err := net.SplitHostPort(m.API)
	if err != nil || m.HTTP == 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(m.HTTP)))
}

// Fingerprints returns the fingerprints of the secrets that a node reports to know.
func (m Meta) Fingerprints() []string {
	if m.Keys == "" {
		return nil
	}
	return strings.Split(m.Keys, ",")
}
