package fsm

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Version is the newest fsm_version that this build knows.
const Version = 1

// firstVersion is the fsm_version of a state that no RaiseVersion was applied to.
const firstVersion = 1

// kind describes one kind of command to the state machine.
type kind struct {
	since uint32 // the fsm_version that introduced it
	apply func(*State, entry) Result
}

// kinds holds every kind of command, by the number of its field in Command.body.
var kinds = map[protoreflect.FieldNumber]kind{
	10: {1, (*State).createLayout},
	11: {1, (*State).acquireWorker},
	12: {1, (*State).extendWindow},
	13: {1, (*State).releaseWorker},
	14: {1, (*State).observeClock},
	15: {1, (*State).setConfig},
	16: {1, (*State).raiseVersion},
	17: {1, (*State).checkpoint},
	18: {1, (*State).removeMember},
	19: {1, (*State).createSequence},
	20: {1, (*State).updateSequence},
	21: {1, (*State).deleteSequence},
	22: {1, (*State).allocateBlock},
	23: {1, (*State).returnBlock},
	24: {1, (*State).createToken},
	25: {1, (*State).updateToken},
	26: {1, (*State).deleteToken},
	27: {1, (*State).resumeSequence},
	28: {1, (*State).acknowledgeRestore},
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

// MinVersion returns the fsm_version that introduced the command's kind. A proposer
// stamps the command with it, provided that the command uses no newer field. For a
// command without a body, MinVersion returns a version that no build supports.
func MinVersion(cmd *commandv1.Command) uint32 {
	k, ok := kindOf(cmd)
	if !ok {
		return math.MaxUint32
	}
	return k.since
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
