package transport

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// absent is a transport to a member that is down until the test brings it back.
type absent struct {
	Transport
	back atomic.Bool
}

var errAbsent = errors.New("connection refused")

func (a *absent) AppendEntries(raft.ServerID, raft.ServerAddress, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) error {
	if a.back.Load() {
		return nil
	}
	return errAbsent
}

func TestReplicationErrorsReturnWithNextHeartbeat(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(*Resuming) error{
		"entries": func(p *Resuming) error {
			return p.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 3}, &raft.AppendEntriesResponse{})
		},
		"snapshot": func(p *Resuming) error {
			return p.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{Term: 7}, &raft.InstallSnapshotResponse{}, bytes.NewReader(nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, inner := raft.NewInmemTransport("a") // created in the bubble, because goroutines of the bubble block on its channels
				member := &absent{Transport: inner}
				ready := make(chan struct{})
				close(ready)
				var replicates atomic.Bool
				replicates.Store(true)
				g := NewGuarded(member, ready, func() Bounds { return Bounds{Term: 7} },
					func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
				p := NewResuming(g, func(id raft.ServerID, term uint64) bool { return id == "b" && term == 7 && replicates.Load() })
				ask := func() <-chan error {
					done := make(chan error, 1)
					go func() { done <- request(p) }()
					return done
				}
				heartbeat := func(of raft.ServerID) error {
					return p.AppendEntries(of, "", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{})
				}
				pending := func(done <-chan error, why string) {
					t.Helper()
					<-time.After(time.Minute)
					select {
					case err := <-done:
						t.Fatalf("the request returned %v %s", err, why)
					default:
					}
				}

				done := ask()
				pending(done, "while the member was down")
				if err := heartbeat("b"); !errors.Is(err, errAbsent) {
					t.Fatalf("heartbeat = %v, want %v", err, errAbsent)
				}
				pending(done, "after a heartbeat that failed")
				member.back.Store(true)
				if err := heartbeat("c"); err != nil {
					t.Fatal(err)
				}
				pending(done, "after the heartbeat of another member")
				if err := heartbeat("b"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := <-done; err == nil {
					t.Error("the request succeeded, want its error")
				}

				member.back.Store(false)
				done = ask()
				pending(done, "while the member was down again")
				replicates.Store(false)
				<-time.After(replicatesPoll)
				synctest.Wait()
				select {
				case <-done:
				default:
					t.Error("the request of a term that is over did not return")
				}

				replicates.Store(true)
				done = ask()
				pending(done, "while the member was down for the third time")
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
				<-done
			})
		})
	}
}
