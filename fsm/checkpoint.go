package fsm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"
)

// LastCheckpoint returns the log index of the last checkpoint and the digest that
// the state had just before it; 0 and zeros if there was none.
func (s *State) LastCheckpoint() (index uint64, digest [32]byte) {
	return s.lastCheckpoint.index, s.lastCheckpoint.digest()
}

// lastCheckpoint is a replica's record of a checkpoint. Never changed, only replaced.
type lastCheckpoint struct {
	index uint64
	// digest returns the digest of the state just before the checkpoint. Its first call takes time in proportion to the
	// state. It may be called from any goroutine, even after the state has changed, so commands do not wait for it.
	digest func() [32]byte
}

// checkpointOf returns a checkpoint whose digest is known.
func checkpointOf(index uint64, digest [32]byte) lastCheckpoint {
	return lastCheckpoint{index, func() [32]byte { return digest }}
}

// digestBytes returns the length of the digest at a checkpoint's index: 0 bytes at index 0, which stands for no checkpoint.
func digestBytes(index uint64) int {
	if index == 0 {
		return 0
	}
	return sha256.Size
}

// checkpoint compares the digest at the last checkpoint with the proposer's and
// takes the next digest. Only a replica whose last checkpoint has the index in the
// command can compare. A sealed replica does not: its state may be that of another
// branch of the history, which is evidence for [State.Restore] and must not be wiped.
func (s *State) checkpoint(e entry) Result {
	c := e.cmd.GetCheckpoint()
	last, digest := s.lastCheckpoint.index, s.lastCheckpoint.digest()
	if want := digestBytes(c.GetIndex()); len(c.GetDigest()) != want {
		return Result{Err: invalid("checkpoint of index %d: digest of %d bytes, expected %d bytes", c.GetIndex(), len(c.GetDigest()), want)}
	}
	if s.sealed == nil && c.GetIndex() != 0 && c.GetIndex() == last && !bytes.Equal(c.GetDigest(), digest[:]) {
		return halted(haltAt(e.index,
			"if the cluster was set back (see the status of the others), keep this data directory and restore; "+
				"otherwise find out which members agree on that digest; on the others, "+adviseRejoin,
			fmt.Errorf("this member's state differs from the leader's; digest at index %d: %x, leader's digest: %x",
				last, digest, c.GetDigest())))
	}
	s.lastCheckpoint = lastCheckpoint{e.index, sync.OnceValue(s.imageAlone().digest)}
	return Result{}
}
