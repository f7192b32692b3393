package gossip

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// patience only bounds a hang: it is many times what a test needs on a busy machine.
const patience = 2 * time.Minute

// eventually fails the test unless a condition becomes true within patience. A test that failed elsewhere stops waiting.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(10 * time.Millisecond) {
		if t.Failed() || time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// logged is a searchable log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) lines(with string) int { return strings.Count(l.String(), with) }

// secrets are the secrets of these tests, the same in each test.
var secrets = []trust.Secret{trust.NewSecret(), trust.NewSecret()}

// keyed returns the keys of the secrets with these numbers; nil without numbers.
func keyed(t *testing.T, numbers ...int) *trust.Keys {
	t.Helper()
	if len(numbers) == 0 {
		return nil
	}
	var of []trust.Secret
	for _, n := range numbers {
		of = append(of, secrets[n])
	}
	keys, err := trust.NewKeys(of...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func someMeta() peer.Meta {
	return peer.Meta{ID: uuid.NewString(), Name: "a", Cluster: uuid.NewString(), Starts: 3, Process: peer.NewProcess(), Raft: "127.0.0.1:1", API: "127.0.0.1:2", Gossip: "127.0.0.1:3", Commands: 1}
}

// startedAgain returns the metadata of a node after another start.
func startedAgain(m peer.Meta) peer.Meta {
	m.Starts++
	m.Process = peer.NewProcess()
	return m
}

func nodeID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
