package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// Loss is a voter's question to another voter: did the leader's process stop, and may the asking voter stand for election?
type Loss struct {
	Leader  string `json:"leader"`  // ID of the leader
	Process string `json:"process"` // process of the leader
	Term    uint64 `json:"term"`    // term of the leader
	// LastTerm and LastIndex are the term and index of the last log entry of the asking voter.
	LastTerm  uint64 `json:"last_term"`
	LastIndex uint64 `json:"last_index"`
}

// LossReply is the answer to a Loss.
type LossReply struct {
	Agrees bool   `json:"agrees"`
	Why    string `json:"why,omitempty"` // reason for which it does not agree
}

// ProcessAt implements leadership.PeerChecker. A host name may resolve to several addresses: all of them must refuse.
func (s *StreamLayer) ProcessAt(ctx context.Context, id raft.ServerID, address string) (process string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", err
	}
	for _, host := range hosts {
		conn, from, greeting := s.greet(ctx, string(id), net.JoinHostPort(host, port), forTerms)
		if greeting == nil {
			return from.Process, conn.Close()
		}
		if !errors.Is(greeting, syscall.ECONNREFUSED) {
			return "", greeting
		}
		err = greeting
	}
	return "", err
}

// AskLoss implements leadership.PeerChecker.
func (s *StreamLayer) AskLoss(ctx context.Context, id raft.ServerID, address raft.ServerAddress, question Loss) (reply LossReply, err error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return reply, errors.New("a question needs a deadline")
	}
	conn, err := s.dial(peer.RaftAddress(string(id), peer.HostPort(address)), forLoss, time.Until(deadline))
	if err != nil {
		return reply, err
	}
	defer func() { _ = conn.Close() }()
	stop := endWith(ctx, conn)
	defer stop()
	if err := writeFrame(conn, question); err != nil {
		return reply, err
	}
	return reply, readFrame(conn, &reply)
}

// serveLossConn answers the single question on a connection, and closes the connection.
func (s *StreamLayer) serveLossConn(conn net.Conn, from string) {
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(termTimeout)); err != nil {
		return
	}
	defer endWith(s.ctx, conn)()
	var question Loss
	if err := readFrame(conn, &question); err != nil {
		return
	}
	if err := writeFrame(conn, s.AnswerLoss(s.ctx, from, question)); err != nil {
		s.logger.Debug("answer about a lost leader not sent", "peer_id", from, "error", err)
	}
}
