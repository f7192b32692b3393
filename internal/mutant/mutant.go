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
	// ReuseWindow goes on in the previous process's window after a restart. The window is kept in a
	// file of the directory SNOWRAFT_MUTANT_DIR, by default the working directory.
	ReuseWindow Bug = "reuse-window"
	// TrustReplica goes on, after a restart, in the window that the member's own replica says its
	// predecessor has, and asks nobody. The replica may be a snapshot that is older than the
	// predecessor's release, and than the window that somebody else was granted after that.
	TrustReplica Bug = "trust-replica"
	// AssumeExtended takes an extension that nobody answered for granted, and goes on to the end that
	// was asked for: an extension is hardly ever refused, so what got lost must have been the answer.
	// If it was the request, the lane is in cells that nobody granted, and that somebody else is
	// granted once the high-water is in the past.
	AssumeExtended Bug = "assume-extended"
	// ResetBeforeCheck begins the sequence of a lane's tick anew before it refuses a clock that went
	// back. When the clock is in that tick again, so are the sequences (twitter/snowflake, issue 6).
	ResetBeforeCheck Bug = "reset-before-check"
	// SequenceWraps begins a full tick anew instead of going on with the next.
	SequenceWraps Bug = "sequence-wraps"
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
	// WorkerOutOfRange grants workers beyond the layout's worker field, and lanes take them.
	WorkerOutOfRange Bug = "worker-out-of-range"
	// NoClockCheck grants a worker to a proposer whose clock is behind the observed clock, so that a
	// cluster that started again with its clocks set back goes on in the past.
	NoClockCheck Bug = "no-clock-check"
	// NowInApply takes the time in Apply instead of from the command.
	NowInApply Bug = "now-in-apply"
	// BlockFromEnd derives the start of a block from its end, after the end was cut off at the bounds.
	BlockFromEnd Bug = "block-from-end"
	// PeriodBack begins a period anew when a proposer's clock went back.
	PeriodBack Bug = "period-back"
	// SequenceOverflow goes on beyond the end of int64.
	SequenceOverflow Bug = "sequence-overflow"
	// ReturnAnyBlock takes numbers back whatever block they are said to be of.
	ReturnAnyBlock Bug = "return-any-block"
	// NoRepeatCheck changes a sequence without looking at what it granted.
	NoRepeatCheck Bug = "no-repeat-check"
	// DeleteForgets forgets what a deleted sequence granted.
	DeleteForgets Bug = "delete-forgets"
	// ReturnAhead takes numbers of a block back ahead of which others were granted.
	ReturnAhead Bug = "return-ahead"
	// PeriodForgotten forgets the periods of a deleted sequence once another one had none of its own.
	PeriodForgotten Bug = "period-forgotten"
	// NoAdminCAS deletes a sequence, or creates one by force, whatever became of the name since.
	NoAdminCAS Bug = "no-admin-cas"
	// AnswerForgotten grants a repeated request another block.
	AnswerForgotten Bug = "answer-forgotten"
	// KeepOutdatedBlock goes on with a block after a later generation or period became known.
	KeepOutdatedBlock Bug = "keep-outdated-block"
	// ReturnBeforeClose gives the tail of a block back without closing the block.
	ReturnBeforeClose Bug = "return-before-close"
	// JoinAcrossGap answers from two blocks as if the second one continued the first.
	JoinAcrossGap Bug = "join-across-gap"
	// KeepReign goes on with a strict sequence's block that was granted before leadership was lost.
	KeepReign Bug = "keep-reign"
	// NoConfirm gives strict numbers out without confirming leadership after they were chosen.
	NoConfirm Bug = "no-confirm"
	// JoinVerification gives callers the result of a verification that began before they came.
	JoinVerification Bug = "join-verification"
	// OldAcknowledgement counts what a voter answered to an earlier verification as its answer to
	// this one, however long this leader was stopped in between.
	OldAcknowledgement Bug = "old-acknowledgement"
	// CountNonvoters counts nonvoters where a majority of the voters is meant: to verify leadership,
	// and to tell whether a removal leaves a majority.
	CountNonvoters Bug = "count-nonvoters"
	// NoBarrier serves as the leader before what earlier leaders committed was applied.
	NoBarrier Bug = "no-barrier"
	// NoClusterCheck lets members of two clusters talk to each other, which makes them one.
	NoClusterCheck Bug = "no-cluster-check"
	// NoSync does not wait until Raft's log, term and vote are on the disk. It takes a machine that
	// crashes to show: what a process wrote that is killed is not lost.
	NoSync Bug = "no-sync"
	// ForwardWithoutID forwards a request for numbers to the leader without its ID: what is repeated,
	// by its caller or by the member that forwards it, is done twice, with other numbers.
	ForwardWithoutID Bug = "forward-without-id"
	// TrustAbsence says of what a member's replica does not have that it does not exist.
	TrustAbsence Bug = "trust-absence"
	// TrustAnyBlock uses a block that repeats numbers.
	TrustAnyBlock Bug = "trust-any-block"
)
