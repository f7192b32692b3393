package rpc

// Domain is the domain of every google.rpc.ErrorInfo that Snowraft sends.
const Domain = "snowraft"

// The reasons in the google.rpc.ErrorInfo of errors; [Reasons] returns their table.
const (
	NoLeader        = "NO_LEADER"
	NotLeader       = "NOT_LEADER"
	CommitUnknown   = "COMMIT_UNKNOWN"
	ShuttingDown    = "SHUTTING_DOWN"
	Overloaded      = "OVERLOADED"
	LimitReached    = "LIMIT_REACHED"
	VersionTooLow   = "VERSION_TOO_LOW"
	InvalidArgument = "INVALID_ARGUMENT"
	Internal        = "INTERNAL"

	WindowEnded      = "WINDOW_ENDED"
	ClockBehind      = "CLOCK_BEHIND"
	ClockSkew        = "CLOCK_SKEW"
	WorkersExhausted = "WORKERS_EXHAUSTED"
	WindowMismatch   = "WINDOW_MISMATCH"
	UnknownLayout    = "UNKNOWN_LAYOUT"
	LayoutExists     = "LAYOUT_EXISTS"
	TimeExhausted    = "TIME_EXHAUSTED"
	NotGranted       = "NOT_GRANTED"
	Fenced           = "FENCED"

	UnknownSequence    = "UNKNOWN_SEQUENCE"
	SequenceExists     = "SEQUENCE_EXISTS"
	SequenceExhausted  = "SEQUENCE_EXHAUSTED"
	SequenceChanged    = "SEQUENCE_CHANGED"
	GenerationMismatch = "GENERATION_MISMATCH"
	WouldRepeat        = "WOULD_REPEAT"
	RequestIDReused    = "REQUEST_ID_REUSED"
	RedisCreateOff     = "REDIS_CREATE_OFF"
	StrictSequence     = "STRICT_SEQUENCE"
	NotLastBlock       = "NOT_LAST_BLOCK"
	UnknownTemplate    = "UNKNOWN_TEMPLATE"
	TemplateExists     = "TEMPLATE_EXISTS"
	TemplateSuspended  = "TEMPLATE_SUSPENDED"

	NoPast           = "NO_PAST"
	PastClosed       = "PAST_CLOSED"
	UnknownBackfill  = "UNKNOWN_BACKFILL"
	BackfillEnded    = "BACKFILL_ENDED"
	BackfillPosition = "BACKFILL_POSITION"
	PeriodClosed     = "PERIOD_CLOSED"
	PeriodUnknown    = "PERIOD_UNKNOWN"

	GaplessSequence    = "GAPLESS_SEQUENCE"
	NotGapless         = "NOT_GAPLESS"
	ReservationsOpen   = "RESERVATIONS_OPEN"
	StaleAttempt       = "STALE_ATTEMPT"
	UnknownReservation = "UNKNOWN_RESERVATION"
	AlreadySettled     = "ALREADY_SETTLED"
	NumberUnresolved   = "NUMBER_UNRESOLVED"

	SequenceFrozen        = "SEQUENCE_FROZEN"
	SequenceMoved         = "SEQUENCE_MOVED"
	RestoreUnacknowledged = "RESTORE_UNACKNOWLEDGED"
	OldClusterAlive       = "OLD_CLUSTER_ALIVE"
	SetBack               = "SET_BACK"
	Contradicted          = "CONTRADICTED"
	UpgradeBlocked        = "UPGRADE_BLOCKED"

	Unauthenticated  = "UNAUTHENTICATED"
	PermissionDenied = "PERMISSION_DENIED"
	RateLimited      = "RATE_LIMITED"
	UnknownToken     = "UNKNOWN_TOKEN"
	TokenExists      = "TOKEN_EXISTS"
	ClusterOpen      = "CLUSTER_OPEN"

	UnknownMember     = "UNKNOWN_MEMBER"
	NamesIncomplete   = "NAMES_INCOMPLETE"
	MemberUnreachable = "MEMBER_UNREACHABLE"
	MemberNotAlive    = "MEMBER_NOT_ALIVE"
	OtherCluster      = "OTHER_CLUSTER"
	NameTaken         = "NAME_TAKEN"
	ProgramTooOld     = "PROGRAM_TOO_OLD"
	NoSuccessor       = "NO_SUCCESSOR"
	QuorumAtRisk      = "QUORUM_AT_RISK"
	AlreadyLeaving    = "ALREADY_LEAVING"
	NotAMember        = "NOT_A_MEMBER"

	UnknownEndpoint  = "UNKNOWN_ENDPOINT"
	MethodNotAllowed = "METHOD_NOT_ALLOWED"
	BrowserRequest   = "BROWSER_REQUEST"
)

// The metadata of some reasons. Times are Unix milliseconds.
const (
	MetadataBehind  = "behind_ms"   // CLOCK_BEHIND: offset
	MetadataAhead   = "ahead_ms"    // CLOCK_SKEW: offset
	MetadataLimit   = "limit_ms"    // CLOCK_BEHIND, CLOCK_SKEW: greatest allowed offset
	MetadataUntil   = "until_at_ms" // WINDOW_ENDED: end of the window
	MetadataRetryAt = "retry_at_ms" // WORKERS_EXHAUSTED, FENCED: time from which a worker may be granted
	MetadataLayout  = "layout"      // WORKERS_EXHAUSTED, FENCED, UNKNOWN_LAYOUT

	MetadataSequence   = "sequence"   // UNKNOWN_SEQUENCE
	MetadataGeneration = "generation" // GENERATION_MISMATCH: present generation
)

// The metadata of requests that one member forwards to another.
const (
	ForwardedBy   = "snowraft-forwarded-by" // ID of the forwarding member
	ForwardedInto = "snowraft-cluster-id"   // ID of the cluster that must serve the call
	// ForwardedFor is the caller as trust.Principal.Forwarded returns it, and "open" in a cluster without a secret; absent if the
	// member itself is the caller.
	ForwardedFor = "snowraft-forwarded-for"
	// AuditIndex is the Raft index of an audited call's command, in the trailer of the answer to the forwarding member.
	AuditIndex = "snowraft-index"
	Via        = "snowraft-via" // IDs of the gateways that forwarded the call
)

// Receipt is the metadata of calls and streams with which a client brings back a receipt.
const Receipt = "snowraft-receipt-bin"
