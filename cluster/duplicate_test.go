package cluster

import (
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/trust"
)

// remembering is a member that remembers the nodes that it met.
type remembering struct {
	*streamLayer
	gossip  *gossip
	refused chan error
}

// address returns the address at which the member listens.
func (r remembering) address() string { return r.listener.Addr().String() }

// run runs a process with an identity on an address.
func run(t *testing.T, keys *trust.Keys, address string, m peer.Meta, log *logged) remembering {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	m.Raft = listener.Addr().String()
	logger := slog.New(slog.NewTextHandler(log, nil))
	cfg := Config{Logger: logger, Watch: clock.NewWatch(clock.System(), nil, clock.Limits{}), Timing: Timing{}.withDefaults()}
	self := func() peer.Meta { return m }
	r := remembering{refused: make(chan error, 100)}
	r.gossip = newGossip(&cfg, self, func(string) (member, voter bool) { return true, true }, newForeign(logger))
	n := &Node{logger: logger, gossip: r.gossip}
	node := agreeing(m)
	node.judge = func(h hello, verified string) handshakeReply {
		if verified != "" {
			r.gossip.met(h.From, "")
		}
		return handshakeReply{From: m}
	}
	node.met, node.earlier, node.duplicate = r.gossip.met, r.gossip.earlier, n.onDuplicate
	node.where = func(id string) ([]string, int) {
		if p, _ := r.gossip.peer(id); p.at != "" {
			return []string{p.at}, 1
		}
		return nil, 1
	}
	node.refused = func(err error) { r.refused <- err }
	r.streamLayer = newStreamLayer(listener, keys, node, logger)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// meets has a member dial another one.
func (r remembering) meets(other remembering) error {
	return r.Greet(raft.ServerID(other.self().ID), raft.ServerAddress(other.address()))
}

// startedAgain returns the metadata of a node after another start.
func startedAgain(m peer.Meta) peer.Meta {
	m.Starts++
	m.Process = peer.NewProcess()
	return m
}

// withAndWithoutSecret runs a test with members of an open and of a secured cluster.
func withAndWithoutSecret(t *testing.T, test func(t *testing.T, keys *trust.Keys)) {
	t.Parallel()
	for name, keys := range map[string]*trust.Keys{"open": nil, "secured": keyed(t, 0)} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, keys) })
	}
}

// Of two processes with one data directory, the later one is refused as long as the first is alive, whether the later one dials
// or is dialed.
func TestCopyOfAMemberIsRefused(t *testing.T) {
	withAndWithoutSecret(t, func(t *testing.T, keys *trust.Keys) {
		log := new(logged)
		other := run(t, keys, "127.0.0.1:0", someMeta(), log)
		first := run(t, keys, "127.0.0.1:0", someMeta(), new(logged))
		if err := other.meets(first); err != nil {
			t.Fatal(err)
		}
		second := run(t, keys, "127.0.0.1:0", startedAgain(first.self()), new(logged))
		for range 3 {
			if err := second.meets(other); !errors.Is(err, peer.ErrDuplicate) {
				t.Errorf("the copy dials: %v, want %v", err, peer.ErrDuplicate)
			}
			if conn, err := other.try(t.Context(), second.self().ID, second.address(), forTerms); err == nil {
				t.Error("the copy is dialed")
				_ = conn.Close()
			}
		}
		if t.Failed() {
			return // no member reports it to the copy
		}
		if err := <-second.refused; !errors.Is(err, peer.ErrDuplicate) {
			t.Errorf("the copy hears %v", err)
		}
		if n := log.lines("second process of a member rejected"); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
		for range 3 {
			if err := errors.Join(other.meets(first), first.meets(other)); err != nil {
				t.Errorf("the first process: %v", err)
			}
		}
		_ = first.Close()
		if err := second.meets(other); err != nil {
			t.Errorf("the only process: %v", err)
		}
	})
}

// A process that is killed and started again is not a copy, even if it restarts often, at once, or at another address.
func TestRestartedMemberIsNoCopy(t *testing.T) {
	withAndWithoutSecret(t, func(t *testing.T, keys *trust.Keys) {
		others := []remembering{run(t, keys, "127.0.0.1:0", someMeta(), new(logged)), run(t, keys, "127.0.0.1:0", someMeta(), new(logged))}
		m, address := someMeta(), "127.0.0.1:0"
		for i := range 20 {
			r := run(t, keys, address, m, new(logged))
			for _, other := range others {
				met := []error{r.meets(other), other.meets(r)}
				if err := errors.Join(met...); err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
			}
			_ = r.Close()
			m, address = startedAgain(m), r.address()
			if i%5 == 4 {
				address = "127.0.0.1:0"
			}
		}
	})
}

// A process that was paused while its copy was started counts as the later one when it wakes up. It is accepted again when the
// copy stops.
func TestPausedAndReplacedMemberIsRefused(t *testing.T) {
	withAndWithoutSecret(t, func(t *testing.T, keys *trust.Keys) {
		other := run(t, keys, "127.0.0.1:0", someMeta(), new(logged))
		first := run(t, keys, "127.0.0.1:0", someMeta(), new(logged))
		if err := other.meets(first); err != nil {
			t.Fatal(err)
		}
		_ = first.Close()
		silent, err := net.Listen("tcp", first.address()) // connections open and carry no answer
		if err != nil {
			t.Fatal(err)
		}
		second := run(t, keys, "127.0.0.1:0", startedAgain(first.self()), new(logged))
		if err := errors.Join(second.meets(other), other.meets(second)); err != nil {
			t.Fatalf("the process that replaces a paused one: %v", err)
		}
		_ = silent.Close()
		woken := run(t, keys, first.address(), first.self(), new(logged))
		if err := woken.meets(other); !errors.Is(err, peer.ErrDuplicate) {
			t.Errorf("the process that woke up: %v, want %v", err, peer.ErrDuplicate)
		}
		_ = second.Close()
		if err := errors.Join(woken.meets(other), other.meets(woken)); err != nil {
			t.Errorf("the only process: %v", err)
		}
	})
}

// A member learns of its copy, and ignores its predecessor.
func TestMemberHearsOfItsCopy(t *testing.T) {
	t.Parallel()
	log := new(logged)
	r := run(t, nil, "127.0.0.1:0", someMeta(), log)
	before := r.self()
	before.Starts, before.Process = before.Starts-1, peer.NewProcess()
	for range 3 {
		r.gossip.learn(before, true)
		r.gossip.learn(r.self(), true)
	}
	if n := log.lines("another process"); n != 0 {
		t.Errorf("%d lines about the predecessor", n)
	}
	for range 3 {
		r.gossip.learn(startedAgain(r.self()), true)
	}
	copied := startedAgain(r.self())
	for range 3 {
		r.gossip.learn(copied, true)
	}
	if n := log.lines("another process"); n != 4 {
		t.Errorf("%d lines about four copies", n)
	}
}
