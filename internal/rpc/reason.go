package rpc

// Domain is the domain of every google.rpc.ErrorInfo that Snowraft sends.
const Domain = "snowraft"

// The reasons that errors carry in their google.rpc.ErrorInfo.
const (
	NotLeader        = "NOT_LEADER"        // only the leader can; nothing was done
	NoLeader         = "NO_LEADER"         // no leader is known now; nothing was done
	CommitUnknown    = "COMMIT_UNKNOWN"    // the command may or may not take effect
	ClockBehind      = "CLOCK_BEHIND"      // a clock is behind by more than the wait threshold
	ClockSkew        = "CLOCK_SKEW"        // a clock is ahead of the majority's
	WindowEnded      = "WINDOW_ENDED"      // the window is used up and there is no quorum for another
	WindowMismatch   = "WINDOW_MISMATCH"   // the worker is not held under this token and window
	WorkersExhausted = "WORKERS_EXHAUSTED" // all workers are held
	UnknownLayout    = "UNKNOWN_LAYOUT"    // no layout has this name
	LayoutExists     = "LAYOUT_EXISTS"     // another layout has this name
	TimeExhausted    = "TIME_EXHAUSTED"    // the layout's time field is full
	UnknownMember    = "UNKNOWN_MEMBER"    // no member has this ID or name
	OtherCluster     = "OTHER_CLUSTER"     // that member is of another cluster
	Unreachable      = "UNREACHABLE"       // that member can't be contacted
	NoSuccessor      = "NO_SUCCESSOR"      // there is nobody to hand leadership to
	QuorumAtRisk     = "QUORUM_AT_RISK"    // too few live voters would remain
	VersionTooLow    = "VERSION_TOO_LOW"   // some member does not know the command yet
	LimitReached     = "LIMIT_REACHED"     // there are as many as there may be
	NotGranted       = "NOT_GRANTED"       // the history has no grant of this ID's cell
	ShuttingDown     = "SHUTTING_DOWN"     // this member ends: ask another
	InvalidArgument  = "INVALID_ARGUMENT"  // the request can never succeed
	NotAMember       = "NOT_A_MEMBER"      // only a member can, and this is a gateway

	UnknownSequence   = "UNKNOWN_SEQUENCE"   // no sequence has this name
	SequenceExists    = "SEQUENCE_EXISTS"    // another sequence has this name
	SequenceExhausted = "SEQUENCE_EXHAUSTED" // the sequence has too few numbers left
	WouldRepeat       = "WOULD_REPEAT"       // numbers could be given out twice
	SequenceChanged   = "SEQUENCE_CHANGED"   // it was changed meanwhile: try again
	// GenerationMismatch says that what is to be changed does not have the generation that the caller expects.
	GenerationMismatch = "GENERATION_MISMATCH"
	StrictSequence     = "STRICT_SEQUENCE" // the leader numbers it, nobody gets a block of it
	NotLastBlock       = "NOT_LAST_BLOCK"  // numbers after this block were granted
)

// The metadata that some reasons come with; times are Unix milliseconds.
const (
	MetadataBehind  = "behind_ms"   // CLOCK_BEHIND: by how much
	MetadataAhead   = "ahead_ms"    // CLOCK_SKEW: by how much
	MetadataLimit   = "limit_ms"    // CLOCK_BEHIND, CLOCK_SKEW: how much is allowed
	MetadataUntil   = "until_at_ms" // WINDOW_ENDED: when
	MetadataRetryAt = "retry_at_ms" // WORKERS_EXHAUSTED: when the first is free, unless its holder extends its window
	MetadataLayout  = "layout"      // WORKERS_EXHAUSTED, UNKNOWN_LAYOUT

	MetadataSequence   = "sequence"   // UNKNOWN_SEQUENCE
	MetadataGeneration = "generation" // GENERATION_MISMATCH: the present one
)

// The metadata of requests that one member forwards to another.
const (
	ForwardedBy   = "snowraft-forwarded-by" // the ID of the member that forwards
	ForwardedInto = "snowraft-cluster-id"   // the cluster that the call is meant for
	Via           = "snowraft-via"          // the IDs of the gateways that the call came through
)
