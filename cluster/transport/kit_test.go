package transport

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

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

// acceptor runs a listener that passes its connections to a function.
func acceptor(t *testing.T, handle func(*net.TCPConn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn.(*net.TCPConn))
		}
	}()
	return listener.Addr().String()
}

func nodeID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// withAndWithoutSecret runs a test with members of an open and of a secured cluster.
func withAndWithoutSecret(t *testing.T, test func(t *testing.T, keys *trust.Keys)) {
	t.Parallel()
	for name, keys := range map[string]*trust.Keys{"open": nil, "secured": keyed(t, 0)} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, keys) })
	}
}

func head() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("a@h:1")}
}

// middlebox forwards connections to an address. It can reset them, and refuse new ones.
type middlebox struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []*net.TCPConn
}

func newMiddlebox(t *testing.T, to string) *middlebox {
	t.Helper()
	box := &middlebox{address: "127.0.0.1:0", to: to}
	box.accept(t)
	t.Cleanup(func() {
		box.refuse()
		box.reset()
	})
	return box
}

// accept takes connections.
func (box *middlebox) accept(t *testing.T) {
	t.Helper()
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", box.address)
	if err != nil {
		t.Fatal(err)
	}
	box.listener, box.address = listener, listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			box.carry(conn.(*net.TCPConn))
		}
	}()
}

func (box *middlebox) carry(client *net.TCPConn) {
	server, err := net.Dial("tcp", box.to)
	if err != nil {
		_ = client.Close()
		return
	}
	box.mu.Lock()
	box.conns = append(box.conns, client, server.(*net.TCPConn))
	box.mu.Unlock()
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

// refuse makes the middlebox refuse new connections.
func (box *middlebox) refuse() {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		_ = box.listener.Close()
		box.listener = nil
	}
}

// reset resets all connections, on both sides.
func (box *middlebox) reset() {
	box.mu.Lock()
	defer box.mu.Unlock()
	for _, c := range box.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	box.conns = nil
}
