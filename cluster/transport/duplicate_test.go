package transport

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// remembering is a member that remembers the nodes that it met.
type remembering struct {
	*StreamLayer
	refused    chan error
	duplicates *atomic.Int64 // number of refused processes
}

// address returns the address at which the member listens.
func (r remembering) address() string { return r.listener.Addr().String() }

// inMemory runs a test in synthetic time, with and without a secret.
func inMemory(t *testing.T, test func(t *testing.T, keys *trust.Keys, network clusterkit.Network)) {
	withAndWithoutSecret(t, func(t *testing.T, keys *trust.Keys) {
		clusterkit.InMemory(t, func(t *testing.T, network clusterkit.Network) { test(t, keys, network) })
	})
}

// run runs a process with an identity on an address.
func run(t *testing.T, keys *trust.Keys, network clusterkit.Network, address string, m peer.Meta) remembering {
	t.Helper()
	listener, err := network.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	m.Raft = listener.Addr().String()
	r := remembering{refused: make(chan error, 100), duplicates: new(atomic.Int64)}
	var mu sync.Mutex
	met, at := make(map[string]peer.Meta), make(map[string]string)
	node := agreeing(m)
	node.Connect = network.DialContext
	node.NoteMet = func(m peer.Meta, address string) {
		mu.Lock()
		defer mu.Unlock()
		if met[m.ID] = m; address != "" {
			at[m.ID] = address
		}
	}
	node.JudgeGreeting = func(h Greeting, verified string) Reply {
		if verified != "" {
			node.NoteMet(h.From, "")
		}
		return Reply{From: m}
	}
	node.EarlierProcess = func(m peer.Meta) (peer.Meta, []string) {
		mu.Lock()
		defer mu.Unlock()
		earlier := met[m.ID]
		if earlier.ID == "" || earlier.Process == m.Process {
			return peer.Meta{}, nil
		}
		return earlier, []string{earlier.Raft, cmp.Or(at[m.ID], earlier.Raft)}
	}
	node.AddressesOf = func(id string) ([]string, int) {
		mu.Lock()
		defer mu.Unlock()
		if at[id] != "" {
			return []string{at[id]}, 1
		}
		return nil, 1
	}
	node.NoteDuplicate = func(peer.Meta, peer.Meta) { r.duplicates.Add(1) }
	node.NoteRefused = func(err error) { r.refused <- err }
	r.StreamLayer = NewStreamLayer(listener, keys, node, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// meets has a member dial another one.
func (r remembering) meets(other remembering) error {
	return r.Greet(raft.ServerID(other.Self().ID), raft.ServerAddress(other.address()))
}

// Of two processes with one data directory, the later one is refused as long as the first is alive, whether the later one dials
// or is dialed.
func TestCopyOfAMemberIsRefused(t *testing.T) {
	inMemory(t, func(t *testing.T, keys *trust.Keys, network clusterkit.Network) {
		other := run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta())
		first := run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta())
		if err := other.meets(first); err != nil {
			t.Fatal(err)
		}
		second := run(t, keys, network, "127.0.0.1:0", clusterkit.Restarted(first.Self()))
		for range 3 {
			if err := second.meets(other); !errors.Is(err, peer.ErrDuplicate) {
				t.Errorf("the copy dials: %v, want %v", err, peer.ErrDuplicate)
			}
			if conn, err := other.dialAddress(t.Context(), second.Self().ID, second.address(), forTerms); err == nil {
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
		if n := other.duplicates.Load(); n != 6 {
			t.Errorf("%d processes were reported as copies, want 6", n)
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
	inMemory(t, func(t *testing.T, keys *trust.Keys, network clusterkit.Network) {
		others := []remembering{run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta()), run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta())}
		m, address := clusterkit.NewMeta(), "127.0.0.1:0"
		for i := range 20 {
			r := run(t, keys, network, address, m)
			for _, other := range others {
				met := []error{r.meets(other), other.meets(r)}
				if err := errors.Join(met...); err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
			}
			_ = r.Close()
			m, address = clusterkit.Restarted(m), r.address()
			if i%5 == 4 {
				address = "127.0.0.1:0"
			}
		}
	})
}

// A process that was paused while its copy was started counts as the later one when it wakes up. It is accepted again when the
// copy stops.
func TestPausedAndReplacedMemberIsRefused(t *testing.T) {
	inMemory(t, func(t *testing.T, keys *trust.Keys, network clusterkit.Network) {
		other := run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta())
		first := run(t, keys, network, "127.0.0.1:0", clusterkit.NewMeta())
		if err := other.meets(first); err != nil {
			t.Fatal(err)
		}
		_ = first.Close()
		silent, err := network.Listen(t.Context(), "tcp", first.address()) // connections open and carry no answer
		if err != nil {
			t.Fatal(err)
		}
		second := run(t, keys, network, "127.0.0.1:0", clusterkit.Restarted(first.Self()))
		if err := errors.Join(second.meets(other), other.meets(second)); err != nil {
			t.Fatalf("the process that replaces a paused one: %v", err)
		}
		_ = silent.Close()
		woken := run(t, keys, network, first.address(), first.Self())
		if err := woken.meets(other); !errors.Is(err, peer.ErrDuplicate) {
			t.Errorf("the process that woke up: %v, want %v", err, peer.ErrDuplicate)
		}
		_ = second.Close()
		if err := errors.Join(woken.meets(other), other.meets(woken)); err != nil {
			t.Errorf("the only process: %v", err)
		}
	})
}
