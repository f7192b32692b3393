// Package mutant names deliberate bugs that the tests plant to show that they
// can fail.
//
// Without the build tag "mutants", which no release has, On is constantly false
// and the compiler drops the code behind it.
package mutant

// Bug is the name of a deliberate bug.
type Bug string

// The bugs that can be planted.
const (
	// NoTokenCheck accepts an extension or a release under an outdated token or nonce.
	NoTokenCheck Bug = "no-token-check"
	// NoExtendCAS accepts an extension whatever end the holder believes its window has.
	NoExtendCAS Bug = "no-extend-cas"
	// ReuseWindow goes on in the previous process's window after a restart.
	ReuseWindow Bug = "reuse-window"
	// ReleaseTooLow lowers the high-water below the last tick that was used.
	ReleaseTooLow Bug = "release-too-low"
	// ResetHighWater forgets a high-water once its window has passed.
	ResetHighWater Bug = "reset-high-water"
	// IgnoreHighWater starts a window at the proposer's clock, below the high-water.
	IgnoreHighWater Bug = "ignore-high-water"
	// IgnoreAfter ignores the floor that a request carries.
	IgnoreAfter Bug = "ignore-after"
	// SnapshotForgets leaves one worker's high-water out of the snapshot.
	SnapshotForgets Bug = "snapshot-forgets"
	// WorkerOutOfRange grants workers beyond the layout's worker field.
	WorkerOutOfRange Bug = "worker-out-of-range"
	// NowInApply takes the time in Apply instead of from the command.
	NowInApply Bug = "now-in-apply"
)
