package fsm

import (
	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// State is the replicated state, pure: it has no lock, no clock and no I/O, and it
// is not safe for concurrent use. [Machine] guards one.
type State struct {
	version  uint32            // commands up to this fsm_version are accepted
	observed int64             // the observed clock; Unix ms, 0 before the first observation
	lowered  int64             // the greatest observed clock if it was lowered since; else 0. From fsm_version 3 on
	config   *commandv1.Config // nil until set; never changed, only replaced

	names   []string // names of the layouts, ascending
	layouts map[string]*layout

	removed []string // IDs of removed members, oldest first, at most maxRemoved

	tokens    tokens
	sequences sequences
	templates templates
	answers   answers

	codeSecret *CodeSecret // nil before the first sequence with codes; never changed then

	restored *commandv1.Restored // nil if the cluster was not restored; never changed, only replaced

	lineage lineage
	sealed  *commandv1.Sealed // nil until sealed; never changed, only replaced

	lastCheckpoint lastCheckpoint

	// The following fields are not part of the state. A Machine publishes when one of the revisions grows: revision counts
	// the changes of config, layouts, version, restored and sealed; sequenceRevision those of sequences, including new periods but
	// not blocks; tokenRevision those of tokens. index is the greatest log index that was applied or that a snapshot
	// records; from fsm_version 2 on it is a part of the state.
	revision         uint64
	sequenceRevision uint64
	tokenRevision    uint64
	index            uint64

	begun                   map[string]int // number of live sequences that began with each pattern
	frozen                  int            // number of frozen sequences, deleted ones included
	maxSequences, maxTokens int            // lower in tests
	entries, maxEntries     int            // records in all ledgers, and their bound; lower in tests
	maxAllFormats           int            // lower in tests

	certain   int64  // if not 0, an earlier observed clock: what came after it may not be in the history of the cluster
	windowEnd int64  // the latest end of a window, Unix ms; released windows may count
	scratch   []byte // memory for record
}

// NewState returns the state before the first command.
func NewState() *State {
	return &State{
		version: firstVersion, layouts: map[string]*layout{}, begun: map[string]int{},
		sequences: newSequences(), answers: newAnswers(), tokens: tokens{anonymous: newAnonymous()},
		lastCheckpoint: checkpointOf(0, [32]byte{}),
		maxSequences:   maxSequences, maxTokens: maxTokens, maxEntries: maxEntries, maxAllFormats: maxAllFormats,
	}
}

// entry is one command of the log.
type entry struct {
	index uint64
	term  uint64 // leader term in which the command was appended
	now   int64  // the proposer's clock in Unix ms; any value, even a hostile one
	cmd   *commandv1.Command
	data  []byte // cmd as Encode returns it; nil if cmd is not from a log
}

// Apply applies the command at a log index, appended in a leader term, and returns its result. It keeps nothing
// of cmd. A command that is refused, or whose result has Halted set, changes nothing but the lineage.
// Indexes must grow from call to call.
func (s *State) Apply(index, term uint64, cmd *commandv1.Command) Result {
	return s.applyEntry(entry{index: index, term: term, now: cmd.GetClockAtMs(), cmd: cmd})
}

// applyLog is Apply for an entry of the log, whose command is cmd.
func (s *State) applyLog(log *raft.Log, cmd *commandv1.Command) Result {
	return s.applyEntry(entry{index: log.Index, term: log.Term, now: cmd.GetClockAtMs(), cmd: cmd, data: log.Data})
}

func (s *State) applyEntry(e entry) Result {
	result := s.apply(e)
	if result.Halted == nil && s.version >= LineageVersion {
		s.record(e)
	}
	result.Index, result.Observed = e.index, s.observed
	s.index = e.index
	return result
}

func (s *State) apply(e entry) Result {
	k, ok := kindOf(e.cmd)
	if !ok {
		return halted(haltAt(e.index, adviseUpgrade, ErrUnknownCommand))
	}
	// A command of a known kind may use newer fields; then its own version is higher.
	if need := max(k.since, e.cmd.GetVersion()); need > s.version {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW,
			"the command needs fsm_version %d, and the cluster uses %d; finalize the upgrade, see \"snowraft upgrade\"",
			need, s.version)}
	}
	if refused := s.checkActor(e.cmd.GetActor()); refused != nil {
		return Result{Err: refused}
	}
	if refused := s.checkSealed(k); refused != nil {
		return Result{Err: refused}
	}
	return k.apply(s, e)
}
