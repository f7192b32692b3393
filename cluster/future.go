package cluster

import (
	"reflect"

	"github.com/hashicorp/raft"
)

// await returns the outcome of a future of raft's, or raft.ErrRaftShutdown once raft has stopped. All waits for futures other than
// that of the shutdown itself are here: when raft 1.7.3 stops, it leaves the futures of entries without an outcome that are
// committed, but not yet applied. A future also ends with its ShutdownCh, which raft sets for its own futures only.
func (n *Node) await(f raft.Future) error {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer { // an outcome that is known already comes as a value
		v.Elem().FieldByName("ShutdownCh").Set(reflect.ValueOf(n.stopped))
	}
	return f.Error()
}

// outcome delivers the result of await.
func (n *Node) outcome(f raft.Future) <-chan error {
	done := make(chan error, 1)
	go func() { done <- n.await(f) }()
	return done
}
