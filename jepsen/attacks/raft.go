package attacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// Types of requests in package raft.
const (
	askAppend byte = iota
	askVote
	askSnapshot
)

// ErrShut is the error of an attack that the member kept out: the member requires TLS, or refused the handshake.
var ErrShut = errors.New("member refused the handshake")

// errRefused is the error of a handshake whose answer is a refusal.
var errRefused = errors.New("refused")

// greet shakes hands on a Raft port as the node from. to is the ID of the called member.
func greet(ctx context.Context, address string, from Meta, to string) (net.Conn, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	hello, err := json.Marshal(map[string]any{"from": from, "to": to})
	if err != nil {
		panic(err) // strings and numbers only
	}
	reply := make([]byte, len("SNOWRAFT\x01")+2)
	if _, err = conn.Write(framed(hello)); err == nil {
		_, err = io.ReadFull(conn, reply)
	}
	if err == nil {
		body := make([]byte, int(reply[len(reply)-2])<<8|int(reply[len(reply)-1]))
		var answer struct{ Refused string }
		if _, err = io.ReadFull(conn, body); err == nil {
			err = json.Unmarshal(body, &answer)
		}
		if err == nil && answer.Refused != "" {
			err = fmt.Errorf("%w: %s", errRefused, body)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, errors.Join(ErrShut, err)
	}
	return conn, nil
}

// Raft sends requests that no member sends to the Raft port of a member, each on a separate connection, as a member of
// its cluster. The requests are a request for a vote in the term before the last possible one, entries of a leader
// without an election, a nil entry, and a snapshot with a broken configuration.
func Raft(ctx context.Context, address string, member Meta) error {
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("a@h:1")}
	entries := func(entries ...*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{RPCHeader: header, Term: 1 << 40, Entries: entries}
	}
	for _, c := range []struct {
		kind    byte
		request any
	}{
		{askVote, &raft.RequestVoteRequest{
			RPCHeader: header, Term: math.MaxUint64 - 1, LastLogIndex: math.MaxUint64, LastLogTerm: math.MaxUint64, LeadershipTransfer: true,
		}},
		{askAppend, entries()},
		{askAppend, entries(nil)},
		{askAppend, entries(&raft.Log{Index: 1, Term: 1 << 40, Type: raft.LogConfiguration, Data: []byte("x")})},
		{askSnapshot, &raft.InstallSnapshotRequest{
			RPCHeader: header, SnapshotVersion: 1, Term: 1 << 41, LastLogIndex: 1 << 40, LastLogTerm: 1 << 40, Configuration: []byte("x"), ConfigurationIndex: 1,
		}},
	} {
		from := stranger()
		from.Cluster = member.Cluster
		conn, err := greet(ctx, address, from, member.ID)
		if err != nil {
			return err
		}
		_, err = conn.Write(append([]byte{c.kind}, packed(c.request)...))
		if err == nil {
			var problem string
			err = codec.NewDecoder(conn, &codec.MsgpackHandle{}).Decode(&problem)
		}
		_ = conn.Close()
		if err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

// MoveByHandshake claims, on the Raft port of one member, that the other members have restarted at an address where no
// process listens.
func MoveByHandshake(ctx context.Context, address string, member Meta, others []Meta) error {
	for _, m := range others {
		m = m.restarted()
		m.Raft, m.API, m.Gossip = "127.0.0.1:9", "127.0.0.1:9", "127.0.0.1:9"
		conn, err := greet(ctx, address, m, member.ID)
		if errors.Is(err, errRefused) {
			continue // the impersonated member is alive
		}
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	return nil
}
