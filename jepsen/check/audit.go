package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// LogAudit checks the committed log and the statuses of members.
//
//   - Raft: copies of the log never contradict each other, and terms never decrease. Each term has at most one leader,
//     which is a voter. No member reports a higher commit index than the final one, and no commit index of a process
//     decreases. A configuration changes at most one voter and has no member of another cluster.
//
//   - Grants: a small model of the rules, written independently of the state machine, agrees with the result of each
//     command. Windows of a worker and blocks of a sequence are disjoint. Only a release by the holder lowers a
//     high-water.
//
//   - Lanes: the log grants the windows that members report to hold, and those that clients received which request
//     windows themselves. This check detects a cluster all of whose members grant windows that they should refuse.
//
//   - Checkpoints: the digests in the log equal those of the replay. Otherwise, members applied entries differently
//     from this build. A leader proposes a checkpoint some seconds after its election and then every 10 minutes. Each
//     checkpoint carries the digest of the one before.
//
//   - Snapshots: the state in each harvested snapshot with content equals the state of the replay at its index.
//
//   - Lives: a restored cluster has its own log, which is judged in the same way. It grants nothing that an earlier
//     cluster granted, no window below its floor, and no number of a sequence before the sequence is resumed.
//
// A run of a minute or more without a compared state is invalid.
func LogAudit(r *Run, logs ...*raftlog.Log) Verdict {
	v := newVerdict("log-audit")
	a := newAudit(v)
	for _, log := range logs {
		a.life(r, log)
	}
	a.windows.checkDisjoint()
	auditStatuses(r, a)
	if took := r.Phases[history.PhaseEnd] - r.Phases[history.PhaseLoad]; took >= int64(time.Minute) && v.Facts[factCompared]+v.Facts[factStates] == 0 {
		v.invalid("no state of a member was compared with the replay within %v", time.Duration(took))
	}
	if err := auditTold(r, a); err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("checked %d entries of %d terms with %d windows, %d blocks and %d checkpoints (%d compared), "+
		"and %d statuses: %d failures", v.Facts[factEntries], v.Facts[factTerms], v.Facts[factWindows], v.Facts[factBlocks],
		v.Facts[factCheckpoints], v.Facts[factCompared], len(r.Statuses), v.Facts[factFailures])
	return *v
}

// The facts that LogAudit counts.
const (
	factFinal       = "final_index"
	factHarvests    = "harvests"
	factEntries     = "entries"
	factCommands    = "commands"
	factRefused     = "refused"
	factTerms       = "terms"
	factBlocks      = "blocks"
	factCheckpoints = "checkpoints"
	factCompared    = "checkpoints_compared"
	factConfigs     = "configurations"
	factLanes       = "lanes"           // lanes in statuses
	factTold        = "grants_told"     // windows granted to clients
	factStates      = "states_compared" // states in snapshots
)

// audit checks the logs of all lives, one after the other.
type audit struct {
	v         *Verdict
	lives     []auditedLife
	raft      *raftAudit // audit of the current life
	windows   *windowModel
	sequences *sequenceModel
	states    map[uint64][]memberState // states in snapshots of the current life, by index
}

// auditedLife is the log of a life with its Raft audit.
type auditedLife struct {
	log  *raftlog.Log
	raft *raftAudit
}

// life checks the log of the next life.
func (a *audit) life(r *Run, log *raftlog.Log) {
	for _, violation := range log.Violations {
		a.v.fail("%s", violation)
	}
	for _, gap := range log.Incomplete {
		a.v.invalid("the committed log is incomplete: %s", gap)
	}
	a.raft, a.states = newRaftAudit(a.v, log), statesOf(log)
	a.raft.strangers = strangersOf(r)
	a.lives = append(a.lives, auditedLife{log, a.raft})
	if len(a.lives) > 1 {
		if err := a.restored(log); err != nil {
			a.v.invalid("%v", err)
			return
		}
	}
	for applied, err := range log.Replay() {
		if err != nil {
			a.v.invalid("%v", err)
			break
		}
		a.take(&applied)
	}
	a.v.Facts[factFinal] = int64(min(log.Final, 1<<62))
	a.v.Facts[factHarvests] += int64(len(log.Harvests))
}

// memberState is the digest of a member's snapshot, or the problem with its content.
type memberState struct{ member, digest, problem string }

// statesOf returns the distinct states in harvested snapshots, by index.
func statesOf(log *raftlog.Log) map[uint64][]memberState {
	states := map[uint64][]memberState{}
	for _, h := range log.Harvests {
		for _, s := range h.States {
			if state := (memberState{h.Member, s.Digest, s.Problem}); !slices.Contains(states[s.Index], state) {
				states[s.Index] = append(states[s.Index], state)
			}
		}
	}
	return states
}

// snapshots compares the members' states after an entry with the state of the replay.
func (a *audit) snapshots(e *raftlog.Applied) {
	for _, s := range a.states[e.Index] {
		a.v.Facts[factStates]++
		switch {
		case s.problem != "":
			a.v.fail("%s has an undamaged snapshot of index %d that cannot be restored: %s", s.member, e.Index, s.problem)
		case s.digest != e.Digest:
			a.v.fail("%s has a snapshot of index %d with the digest %s, but the replay has %s: the member applied entries differently "+
				"or wrote an incomplete snapshot", s.member, e.Index, s.digest, e.Digest)
		}
	}
}

func newAudit(v *Verdict) *audit {
	return &audit{v: v, raft: newRaftAudit(v, &raftlog.Log{}), windows: newWindowModel(v), sequences: newSequenceModel(v)}
}

// take checks the next entry.
func (a *audit) take(e *raftlog.Applied) {
	a.v.Facts[factEntries]++
	a.raft.entry(&e.Entry)
	a.snapshots(e)
	switch {
	case e.Undecoded != nil:
		a.v.fail("the command at index %d cannot be decoded: %v", e.Index, e.Undecoded)
		return
	case e.Type != raft.LogCommand:
		return
	}
	a.v.Facts[factCommands]++
	if e.Result.Err != nil {
		a.v.Facts[factRefused]++
	}
	if check := e.Command.GetCheckpoint(); check != nil {
		a.checkpoint(e, check)
	} else if e.Result.Halted != nil {
		a.v.fail("replicas halt at index %d: %v", e.Index, e.Result.Halted)
		return
	}
	a.windows.take(e)
	a.sequences.take(e)
}

// checkpoint compares the digest in a checkpoint with that of the replay.
func (a *audit) checkpoint(e *raftlog.Applied, check *commandv1.Checkpoint) {
	a.v.Facts[factCheckpoints]++
	c := raftlog.CheckpointOf(e, check)
	if c.Compared {
		a.v.Facts[factCompared]++
	}
	if !c.Matches() {
		a.v.fail("the checkpoint at index %d of term %d has the digest %x for the leader's state at index %d, "+
			"but the replay has %x: the members applied entries differently", c.Index, e.Term, c.Digest, c.At, c.Replayed)
	}
}
