// Package clusterkit holds what the tests of cluster and of the packages below it share. Only tests import it.
package clusterkit

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// Patience only bounds a hang: it is many times what a test needs on a busy machine.
const Patience = 2 * time.Minute

// Eventually fails the test unless a condition becomes true within Patience. A test that failed elsewhere stops waiting.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !is(); <-time.After(10 * time.Millisecond) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Log is a searchable log.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Lines returns how often the log has a text.
func (l *Log) Lines(with string) int { return strings.Count(l.String(), with) }

// Secrets are the secrets of these tests, the same in each test.
var Secrets = []trust.Secret{trust.NewSecret(), trust.NewSecret()}

// Keys returns the keys of the secrets with these numbers; nil without numbers.
func Keys(t *testing.T, numbers ...int) *trust.Keys {
	t.Helper()
	if len(numbers) == 0 {
		return nil
	}
	var of []trust.Secret
	for _, n := range numbers {
		of = append(of, Secrets[n])
	}
	keys, err := trust.NewKeys(of...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// NewMeta returns the metadata of a new node of a new cluster.
func NewMeta() peer.Meta {
	return peer.Meta{ID: uuid.NewString(), Name: "a", Cluster: uuid.NewString(), Starts: 3, Process: peer.NewProcess(), Raft: "127.0.0.1:1", API: "127.0.0.1:2", Gossip: "127.0.0.1:3", Commands: 1}
}

// Restarted returns the metadata of a node after another start.
func Restarted(m peer.Meta) peer.Meta {
	m.Starts++
	m.Process = peer.NewProcess()
	return m
}

// NodeID returns the ID of a node with a number.
func NodeID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// Header returns the header of an RPC of raft.
func Header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("a@h:1")}
}
