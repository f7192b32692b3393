package fsm

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Version is the newest fsm_version that this build knows.
const Version = 3

// firstVersion is the fsm_version of a state that no RaiseVersion was applied to.
const firstVersion = 1

// LeaseVersion is the fsm_version from which on holders describe their processes, requests name the range of wanted workers,
// layouts can be for leases only, and the share of a token can be configured.
const LeaseVersion = 2

// DocumentVersion is the fsm_version from which on a cluster knows document numbers: calendars of businesses, numbers of
// earlier periods, templates, gapless sequences, codes, and IDs of the past.
const DocumentVersion = 3

// kind describes one kind of command to the state machine.
type kind struct {
	since uint32 // the fsm_version that introduced it
	apply func(*State, entry) Result

	whileSealed bool // a sealed cluster accepts it, because it grants nothing
}

// kinds holds every kind of command, by the number of its field in Command.body.
var kinds = map[protoreflect.FieldNumber]kind{
	10: {1, (*State).createLayout, false},
	11: {1, (*State).acquireWorker, false},
	12: {1, (*State).extendWindow, false},
	13: {1, (*State).releaseWorker, false},
	14: {1, (*State).observeClock, true},
	15: {1, (*State).setConfig, false},
	16: {1, (*State).raiseVersion, true},
	17: {1, (*State).checkpoint, true},
	18: {1, (*State).removeMember, true},
	19: {1, (*State).createSequence, false},
	20: {1, (*State).updateSequence, false},
	21: {1, (*State).deleteSequence, false},
	22: {1, (*State).allocateBlock, false},
	23: {1, (*State).returnBlock, false},
	24: {1, (*State).createToken, true},
	25: {1, (*State).updateToken, true},
	26: {1, (*State).deleteToken, true},
	27: {1, (*State).resumeSequence, false},
	28: {1, (*State).acknowledgeRestore, false},
	29: {2, (*State).lead, true},
	30: {2, (*State).seal, true},
	35: {livesVersion, (*State).supersede, true},
	40: {DocumentVersion, (*State).createTemplate, false},
	41: {DocumentVersion, (*State).updateTemplate, false},
	42: {DocumentVersion, (*State).deleteTemplate, false},
	43: {DocumentVersion, (*State).resumeTemplate, false},
	44: {DocumentVersion, (*State).beginSequence, false},
	50: {DocumentVersion, (*State).reserveNumbers, false},
	51: {DocumentVersion, (*State).confirmNumbers, false},
	52: {DocumentVersion, (*State).voidNumbers, false},
	53: {DocumentVersion, (*State).takeNumbers, false},
	54: {DocumentVersion, (*State).resolveNumbers, false},
	60: {DocumentVersion, (*State).startBackfill, false},
	61: {DocumentVersion, (*State).extendBackfill, false},
	62: {DocumentVersion, (*State).endBackfill, false},
	63: {DocumentVersion, (*State).resumeBackfill, false},
	80: {DocumentVersion, (*State).moveSequence, false},
}

var commandBody = (&commandv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("body")

func kindOf(cmd *commandv1.Command) (kind, bool) {
	body := cmd.ProtoReflect().WhichOneof(commandBody)
	if body == nil {
		return kind{}, false
	}
	k, ok := kinds[body.Number()]
	return k, ok
}

// MinVersion returns the fsm_version that introduced the command's kind and all fields that it uses. A proposer stamps the
// command with it. For a command without a body, MinVersion returns a version that no build supports.
func MinVersion(cmd *commandv1.Command) uint32 {
	k, ok := kindOf(cmd)
	if !ok {
		return math.MaxUint32
	}
	return max(k.since, newestField(cmd))
}

// newestField returns the fsm_version that introduced the newest field of a command, or firstVersion.
func newestField(cmd *commandv1.Command) uint32 {
	if needsDocuments(cmd.GetCreateSequence().GetSpec()) || needsDocuments(cmd.GetUpdateSequence().GetSpec()) ||
		cmd.GetCreateSequence().GetSpec().GetTemplate() != "" || cmd.GetUpdateSequence().GetSpec().GetTemplate() != "" ||
		cmd.GetCreateToken().GetSequences() != 0 || cmd.GetUpdateToken().GetSequences() != 0 || usesLate(cmd) ||
		cmd.GetCreateLayout().GetSpec().GetPast() || cmd.GetResumeSequence().GetFormatsStated() || len(cmd.GetResumeSequence().GetFormats()) > 0 {
		return DocumentVersion
	}
	acquire := cmd.GetAcquireWorker()
	if acquire.GetBelow() != 0 || acquire.GetProcess() != nil ||
		cmd.GetCreateLayout().GetSpec().GetLeaseOnly() || cmd.GetSetConfig().GetConfig().GetTokenWorkersPercent() != 0 {
		return LeaseVersion
	}
	return firstVersion
}

// FSMVersion returns the fsm_version up to which commands are accepted; it starts
// at 1 and only grows.
func (s *State) FSMVersion() uint32 { return s.version }

// raiseVersion accepts commands up to a newer version from now on. A version that
// is not newer changes nothing. The Machine checks that this build supports the
// version, because builds differ between replicas.
func (s *State) raiseVersion(e entry) Result {
	if version := e.cmd.GetRaiseVersion().GetVersion(); version > s.version {
		s.version = version
		s.revision++
	}
	return Result{}
}
