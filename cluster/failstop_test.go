package cluster

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/storage"
)

// failingStore is a disk on which selected operations fail.
type failingStore struct {
	*raft.InmemStore
	mu    sync.Mutex
	fails map[string]bool // keyed by operation
	hang  chan struct{}   // unless nil, entries are stored once it is closed
}

func (s *failingStore) fail(what ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = map[string]bool{}
	for _, w := range what {
		s.fails[w] = true
	}
}

func (s *failingStore) err(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails[what] {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (s *failingStore) StoreLogs(l []*raft.Log) error {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return errors.Join(s.err("store"), s.InmemStore.StoreLogs(l))
}

func (s *failingStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *failingStore) GetLog(i uint64, l *raft.Log) error {
	if err := s.err("get log"); err != nil {
		return err
	}
	return s.InmemStore.GetLog(i, l)
}

func (s *failingStore) Set(k, v []byte) error {
	return errors.Join(s.err("set"), s.err("set "+string(k)), s.InmemStore.Set(k, v))
}

func (s *failingStore) Get(k []byte) ([]byte, error) {
	if err := s.err("get"); err != nil {
		return nil, err
	}
	return s.InmemStore.Get(k)
}

// bare returns a node that has only a disk and the fields that raft needs.
func bare(t *testing.T) (*Node, *failingStore) {
	t.Helper()
	disk := &failingStore{InmemStore: raft.NewInmemStore()}
	id, err := storage.OpenIdentity("")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{
		cfg: Config{FSM: emptyFSM{}, Timing: Timing{}.withDefaults()}, id: id, logger: slog.New(slog.DiscardHandler),
		notify: make(chan bool, 8), failed: make(chan struct{}), stopped: make(chan struct{}),
	}
	n.guard(t, disk)
	return n, disk
}

// guard opens the node's store on a disk, with nothing in its cache.
func (n *Node) guard(t *testing.T, disk *failingStore) {
	t.Helper()
	var err error
	n.store, err = storage.Guard(storage.Stores{Logs: disk, Stable: disk, Snapshots: raft.NewInmemSnapshotStore()}, n.id, n.Fail)
	if err != nil {
		t.Fatal(err)
	}
}

func entry(index, term uint64, data string) *raft.Log {
	return &raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: []byte(data)}
}

// Without failStop, raft would panic or continue.
func TestRaftEndsAtStoreFailure(t *testing.T) {
	t.Parallel()
	lead := func(t *testing.T, n *Node) {
		if !<-n.notify {
			t.Fatal("not leading")
		}
		if err := n.raft.Barrier(0).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		before []string // operations that fail from the start
		run    func(t *testing.T, n *Node, disk *failingStore, peer *raft.InmemTransport)
	}{
		"the term, when it stands for election": {[]string{"set"}, nil},
		"the vote for itself":                   {[]string{"set LastVoteCand"}, nil},
		"a committed entry can't be read":       {[]string{"get log"}, nil},
		"a proposal of a leader": {nil, func(t *testing.T, n *Node, disk *failingStore, _ *raft.InmemTransport) {
			lead(t, n)
			disk.fail("store", "set")
			if err := n.raft.Apply([]byte("x"), 0).Error(); !errors.Is(proposalError(err), ErrUnknownOutcome) {
				t.Errorf("the proposal: %v", err)
			}
			if <-n.notify {
				t.Error("the halted node leads again")
			}
		}},
		"a later term from another leader": {nil, func(t *testing.T, n *Node, disk *failingStore, peer *raft.InmemTransport) {
			lead(t, n)
			disk.fail("set")
			req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: []byte("b")}, Term: 100}
			var resp raft.AppendEntriesResponse
			if err := peer.AppendEntries("", "a", req, &resp); err == nil && (resp.Success || resp.Term >= 100) {
				t.Errorf("answered %+v", resp)
			}
		}},
		"an entry of another leader": {nil, func(t *testing.T, n *Node, disk *failingStore, peer *raft.InmemTransport) {
			lead(t, n)
			disk.fail("store")
			last := n.raft.LastIndex()
			req := &raft.AppendEntriesRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: []byte("b")}, Term: 100,
				PrevLogEntry: last, PrevLogTerm: n.raft.CurrentTerm(), Entries: []*raft.Log{entry(last+1, 100, "x")},
			}
			var resp raft.AppendEntriesResponse
			if err := peer.AppendEntries("", "a", req, &resp); err == nil && resp.Success {
				t.Errorf("answered %+v", resp)
			}
			if n.raft.LastIndex() != last {
				t.Error("the leader counts an entry that it did not store")
			}
		}},
		"a vote for another": {nil, func(t *testing.T, n *Node, disk *failingStore, peer *raft.InmemTransport) {
			lead(t, n)
			disk.fail("set LastVoteTerm")
			req := &raft.RequestVoteRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(n.ID()), Addr: []byte("b")}, Term: 100,
				LastLogIndex: 1000, LastLogTerm: 99, LeadershipTransfer: true,
			}
			var resp raft.RequestVoteResponse
			if err := peer.RequestVote("", "a", req, &resp); err == nil && resp.Granted {
				t.Errorf("answered %+v", resp)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, disk := bare(t)
				_, trans := raft.NewInmemTransport("a")
				_, peer := raft.NewInmemTransport("b")
				peer.Connect("a", trans)
				conf := n.cfg.raftConfig(n.ID(), n.notify, logging.Hashicorp(n.logger, "raft", nil))
				servers := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(n.ID()), Address: "a"}}}
				if err := raft.BootstrapCluster(conf, n.store.Logs, n.store.Stable, n.store.Snapshots, trans, servers); err != nil {
					t.Fatal(err)
				}
				if err := n.store.Logs.StoreLog(entry(2, 1, "old")); err != nil {
					t.Fatal(err)
				}
				n.guard(t, disk) // the cache would hide a failure
				r, err := n.newRaft(trans)
				if err != nil {
					t.Fatal(err)
				}
				n.raft = r
				disk.fail(c.before...)
				if c.run != nil {
					c.run(t, n, disk, peer)
				}
				<-n.Failed()
				if failure, ok := errors.AsType[*storage.DiskError](n.Failure()); !ok || !errors.Is(failure, io.ErrUnexpectedEOF) {
					t.Errorf("Failure() = %v", n.Failure())
				}
				synctest.Wait()
				term := r.CurrentTerm()
				<-time.After(time.Minute) // elections would be held
				if r.CurrentTerm() != term {
					t.Errorf("raft continues in term %d after term %d", r.CurrentTerm(), term)
				}
				began := time.Now()
				if err := n.stopRaft(); err != nil || time.Since(began) > 0 {
					t.Errorf("the node stops after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// Without failStop, raft would panic.
func TestRaftDoesNotStartOnAFailedStore(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"set", "get", "get log"} {
		n, disk := bare(t)
		if err := n.store.Logs.StoreLog(entry(1, 1, "x")); err != nil {
			t.Fatal(err)
		}
		n.guard(t, disk)
		disk.fail(what)
		_, trans := raft.NewInmemTransport("a")
		_, err := n.newRaft(trans)
		if _, ok := errors.AsType[*storage.DiskError](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Raft no longer answers after the disk has failed.
func TestBootstrapOnAFailedDisk(t *testing.T) {
	t.Parallel()
	disk := &failingStore{InmemStore: raft.NewInmemStore()}
	disk.fail("store")
	n := openAlone(t, disk, disk)
	<-n.Failed()
	err := n.Close(t.Context()) // an error if raft does not stop within storage.StuckTimeout
	if _, ok := errors.AsType[*storage.DiskError](n.Failure()); !ok || err != nil {
		t.Errorf("the node fails with %v, and closes with %v", n.Failure(), err)
	}
	if n.ClusterID() != "" {
		t.Error("the node has joined a cluster")
	}
}

// Proposals end at once although no goroutine takes the next one from raft's queue.
func TestProposalsEndAtDiskFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, disk := bare(t)
		leadAlone(t, n)
		disk.fail("store")
		hang := make(chan struct{})
		disk.mu.Lock()
		disk.hang = hang
		disk.mu.Unlock()
		began := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := n.Propose(t.Context(), []byte("x")); !errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("the proposal: %v", err)
				}
			})
			synctest.Wait() // one proposal is being written, the others wait
		}
		close(hang)
		wg.Wait()
		if time.Since(began) > 0 {
			t.Errorf("the calls took %v", time.Since(began))
		}
		if err := n.stopRaft(); err != nil {
			t.Error(err)
		}
	})
}
