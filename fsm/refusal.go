package fsm

import (
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Result is the result of applying one command. The same command at the same index
// gives the same result on every replica.
type Result struct {
	// Err is the reason for which the command had no effect; nil if the command took effect.
	Err *Refused

	// Halted is the reason for which the machine halted; nil if it did not. It wraps
	// [ErrHalted]. Err is set too, so that no caller takes such a result for a grant.
	Halted error

	Grant    Grant             // window, for AcquireWorker and ExtendWindow
	Layout   *snowflake.Layout // new or equal existing layout, for CreateLayout
	Config   *commandv1.Config // configuration from now on, for SetConfig; must not be changed
	Sequence Sequence          // sequence from now on, for CreateSequence and UpdateSequence
	Template Template          // template from now on, for CreateTemplate, UpdateTemplate and ResumeTemplate
	Block    BlockGrant        // block, for AllocateBlock
	Backfill Backfill          // job from now on, for StartBackfill, ExtendBackfill and EndBackfill
	// Reservations are those of the keys, in their order, for ReserveNumbers.
	Reservations []Reservation
	Token        *TokenRecord // token from now on, for CreateToken and UpdateToken; must not be changed

	// Index and Observed are set for every command, even a refused one.
	Index    uint64 // log index of the command
	Observed int64  // observed clock after the command; Unix ms
}

// Failure returns Halted or Err as an error, or nil if there is neither.
func (r Result) Failure() error {
	switch {
	case r.Halted != nil:
		return r.Halted
	case r.Err != nil:
		return r.Err
	}
	return nil
}

// Grant is a window on a worker: the ticks [From, Until) belong to the holder.
type Grant struct {
	Worker uint64
	Token  uint64 // log index of the acquisition, even after extensions
	From   int64  // first tick of the acquisition, even after extensions
	Until  int64  // tick before which the window ends
}

// Refused is the reason for which a command had no effect. It is an error; match it with [errors.As], or by its
// reason with [errors.Is] and a Refused of that reason.
type Refused struct {
	Reason commandv1.Refusal

	// Detail states the problem, its extent, and the action to take.
	Detail string

	// RetryAtMillis is the soonest time on the proposer's clock at which the same
	// request may succeed, in Unix milliseconds; 0 if waiting does not help. Later
	// commands may delay that time, for example when a holder extends its window, or
	// bring it forward.
	RetryAtMillis int64

	// BehindMillis is the time by which the proposer's clock was behind, in ms; set for
	// CLOCK_BEHIND only.
	BehindMillis int64
}

func (r *Refused) Error() string { return r.Detail }

// Is reports whether the target is a Refused of the same reason.
func (r *Refused) Is(target error) bool {
	t, ok := target.(*Refused)
	return ok && t.Reason == r.Reason
}

func refuse(reason commandv1.Refusal, format string, args ...any) *Refused {
	return &Refused{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// retryAt sets RetryAtMillis.
func (r *Refused) retryAt(millis int64) *Refused {
	r.RetryAtMillis = millis
	return r
}

func invalid(format string, args ...any) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, format, args...)
}

// ErrHalted reports that the machine met something that it could neither apply nor skip
// without differing from the other replicas. Its state no longer changes.
var ErrHalted = errors.New("state machine halted")

// NewerError reports that the cluster of a log or a snapshot uses commands that this build does not know. It is an
// [ErrHalted] and an [ErrUnknownCommand].
type NewerError struct {
	Used  uint32 // fsm_version that the cluster uses, or that a command needs
	Known uint32 // newest fsm_version that the Machine accepts
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the cluster uses commands of fsm_version %d, and this program knows them up to fsm_version %d; start the newer program, the data is intact",
		e.Used, e.Known)
}

// Is reports whether the target is ErrHalted or ErrUnknownCommand. They are not in the chain, because their texts are less specific.
func (e *NewerError) Is(target error) bool { return target == ErrHalted || target == ErrUnknownCommand }

// Actions of an operator after a halt.
const (
	adviseRejoin  = "wipe this member's data directory and let it join again as a new member"
	adviseUpgrade = "run a newer snowraft on this member, its data is intact"
)

// halted returns the result of a command that halts the machine, or that arrives after the halt.
func halted(err error) Result {
	return Result{Halted: err, Err: &Refused{Detail: err.Error()}}
}

func haltAt(index uint64, advice string, err error) error {
	return fmt.Errorf("%w at log index %d: %w; %s", ErrHalted, index, err, advice)
}

// adviceFor returns the action of an operator about bytes that could not be read.
func adviceFor(err error) string {
	if errors.Is(err, ErrUnknownCommand) {
		return adviseUpgrade
	}
	return adviseRejoin
}
