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

// LogAudit checks the committed log and what members said of theirs.
//
//   - Raft: copies of the log never contradict each other, terms never decrease, one leader
//     in each term, who leads may vote, no member knows more committed than there is in the end,
//     nobody's commit index goes back, voters come and go one at a time, and no member of another
//     cluster is among them.
//
//   - Grants: a small model of the rules, written apart from the state machine, has to agree with
//     what that made of each command: windows of a worker and blocks of a sequence are disjoint, high-waters
//     go down for releases by the holder only.
//
//   - Lanes: what members say that they hold is what the log grants them. A cluster all of whose
//     members grant what they should have refused shows here. Also what clients were told
//     that requested windows themselves.
//
//   - Checkpoints: the digests in the log are those of the replay, else members applied something
//     else than this build does. Leaders propose a checkpoint some seconds after their election
//     and then every 10 minutes, and each carries the digest of the one before.
//
//   - Snapshots: the state in each that was harvested with its content is the one of the replay at
//     its index.
//
//   - Lives: a restored cluster is another one, with a log of its own, which is judged in the same way. It grants nothing
//     that an earlier one granted, no window below its floor, and no number of a sequence before that was resumed.
//
// A run of a minute or more in which no state was compared is invalid.
func LogAudit(r *Run, logs ...*raftlog.Log) Verdict {
	v := newVerdict("log-audit")
	a := newAudit(v)
	for _, log := range logs {
		a.life(r, log)
	}
	a.windows.checkDisjoint()
	auditStatuses(r, a)
	if took := r.Phases[history.PhaseEnd] - r.Phases[history.PhaseLoad]; took >= int64(time.Minute) && v.Facts[factCompared]+v.Facts[factStates] == 0 {
		v.invalid("the states of members were never compared with that of the log, in %v", time.Duration(took))
	}
	if err := auditTold(r, a); err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d entries of %d terms with %d windows, %d blocks and %d checkpoints, of which %d said something, and %d statuses: %d failures",
		v.Facts[factEntries], v.Facts[factTerms], v.Facts[factWindows], v.Facts[factBlocks], v.Facts[factCheckpoints], v.Facts[factCompared],
		len(r.Statuses), v.Facts[factFailures])
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
	factLanes       = "lanes"           // of statuses
	factTold        = "grants_told"     // to clients
	factStates      = "states_compared" // of snapshots
)

// audit goes through the logs of all lives.
type audit struct {
	v         *Verdict
	lives     []auditedLife
	raft      *raftAudit // of the life that is looked at
	windows   *windowModel
	sequences *sequenceModel
	states    map[uint64][]memberState // that members had snapshots of, by index
}

// auditedLife is the log of a life, and what it says of Raft.
type auditedLife struct {
	log  *raftlog.Log
	raft *raftAudit
}

// life goes through the log of the next life.
func (a *audit) life(r *Run, log *raftlog.Log) {
	for _, violation := range log.Violations {
		a.v.fail("%s", violation)
	}
	for _, gap := range log.Incomplete {
		a.v.invalid("the committed log is not known: %s", gap)
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

// memberState is the state that a member had at an index.
type memberState struct{ member, digest, problem string }

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

// snapshots compares the states that members had after an entry with the replay's.
func (a *audit) snapshots(e *raftlog.Applied) {
	for _, s := range a.states[e.Index] {
		a.v.Facts[factStates]++
		switch {
		case s.problem != "":
			a.v.fail("%s has a snapshot of index %d, undamaged, that can't be restored: %s", s.member, e.Index, s.problem)
		case s.digest != e.Digest:
			a.v.fail("%s has a snapshot of index %d whose state has the digest %s, and what the log makes there has %s: it applied something else, "+
				"or left something out", s.member, e.Index, s.digest, e.Digest)
		}
	}
}

func newAudit(v *Verdict) *audit {
	return &audit{v: v, raft: newRaftAudit(v, &raftlog.Log{}), windows: newWindowModel(v), sequences: newSequenceModel(v)}
}

func (a *audit) take(e *raftlog.Applied) {
	a.v.Facts[factEntries]++
	a.raft.entry(&e.Entry)
	a.snapshots(e)
	switch {
	case e.Undecoded != nil:
		a.v.fail("the command at index %d can't be decoded: %v", e.Index, e.Undecoded)
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

func (a *audit) checkpoint(e *raftlog.Applied, check *commandv1.Checkpoint) {
	a.v.Facts[factCheckpoints]++
	c := raftlog.CheckpointOf(e, check)
	if c.Compared {
		a.v.Facts[factCompared]++
	}
	if !c.Matches() {
		a.v.fail("the checkpoint at index %d, of term %d, says that the leader's state at index %d had the digest %x, "+
			"and what the log makes there has %x: the members applied something else", c.Index, e.Term, c.At, c.Digest, c.Replayed)
	}
}
