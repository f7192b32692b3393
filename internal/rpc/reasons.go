package rpc

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/trust"
)

// Reason is a row of the table of errors. docs/errors.md shows the table. Members, clients and the command
// line use it.
type Reason struct {
	Name   string
	Code   codes.Code
	Repeat Repeat
	// RetryAfter is the delay in the RetryInfo, unless the error has its own delay; 0 means no RetryInfo.
	RetryAfter time.Duration
	// Redis is the prefix of the error that Redis clients get; empty if no Redis command fails with the reason.
	Redis   string
	Meaning string // Markdown
	Action  string // Markdown, with links as in docs
}

// Repeat is the rule for repeating a failed request unchanged.
type Repeat string

// The values of Repeat.
const (
	RepeatNo       Repeat = "no"        // fails again until the cause is changed
	RepeatLater    Repeat = "later"     // may succeed later; callers of a client decide
	RepeatYes      Repeat = "yes"       // may succeed soon, or at another member
	RepeatByMethod Repeat = "by method" // only if the rule of the method calls a repetition harmless
)

// RetrySoon is the usual duration of an election or of a return of quorum.
const RetrySoon = 500 * time.Millisecond

// The prefixes of errors that Redis clients get. LOADING makes Redis client libraries retry.
const (
	redisLoading = "LOADING"
	redisErr     = "ERR"
)

var byName = func() map[string]Reason {
	m := make(map[string]Reason)
	for _, r := range reasons {
		m[r.Name] = r
	}
	return m
}()

// Reasons returns the table, in the order of the documentation.
func Reasons() []Reason { return slices.Clone(reasons) }

// ReasonOf returns the row of a reason; ok is false for the empty reason and for reasons of later versions.
func ReasonOf(name string) (r Reason, ok bool) {
	r, ok = byName[name]
	return r, ok
}

// MayBeDone reports whether the request may have had an effect. After all other reasons, the request had no effect.
func (r Reason) MayBeDone() bool { return r.Name == CommitUnknown || r.Name == Internal }

// NewError returns an error with the code and the delay of its reason; an unknown reason has the code Internal. It
// masks secrets in the message.
func NewError(reason, message string) *Error {
	r := byName[reason]
	return &Error{Code: cmp.Or(r.Code, codes.Internal), Reason: reason, Message: trust.Mask(message), RetryAfter: r.RetryAfter}
}

var reasons = []Reason{
	{NoLeader, codes.Unavailable, RepeatYes, RetrySoon, redisLoading,
		"No leader is known: an election is in progress, quorum is lost, or this member has not joined a cluster.",
		"Try again: an election takes a second or two. If the error lasts, [restore quorum](runbook.md#no-leader), or check whether [the leader has a clock to compare its own with](runbook.md#leader-without-another-clock)."},
	{NotLeader, codes.Unavailable, RepeatYes, RetrySoon, redisLoading,
		"Leadership changed during the call.",
		"Try again, as for `NO_LEADER`."},
	{CommitUnknown, codes.Unknown, RepeatByMethod, 0, redisLoading,
		"The command may or may not take effect, now or later.",
		"Check whether the command took effect. Repeat it if it did not, or if a repetition does no harm. Treat a grant as lost, and acquire another worker."},
	{ShuttingDown, codes.Unavailable, RepeatYes, 0, redisLoading,
		"This process is shutting down.",
		"Try another member at once. For `Leave`, wait until the process has exited."},
	{Overloaded, codes.ResourceExhausted, RepeatYes, time.Second, redisLoading,
		"This member currently has too many connections, or clients hold all memory that they may, or the cluster already remembers 262,144 request IDs, or 32,768 request IDs of one API token, or as many keys of reservations as it can.",
		"Try again later, or try another member. Find the clients that keep too many calls open or do not read their answers. A Redis connection over its limit gets `ERR max number of clients reached` and is closed. If the request has a request ID, wait as long as the `RetryInfo` says, or send the request without an ID."},
	{LimitReached, codes.ResourceExhausted, RepeatNo, 0, redisErr,
		"The cluster has reached its limit of 1,000 layouts, 1,000 templates, 1,000,000 sequences (deleted ones included) or 10,000 tokens, the quota of a template or token for sequences is used up, or the records of gapless sequences are.",
		"Use an existing layout or sequence, delete tokens that are not used, or raise the quota that the message names. If `seq reserve` or `seq take` fails, [continue in another sequence](runbook.md#records-used-up)."},
	{VersionTooLow, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The upgrade that introduced this command is not finalized.",
		"See `snowraft upgrade`, and [finalize the upgrade](upgrade.md#finalize-the-upgrade)."},
	{InvalidArgument, codes.InvalidArgument, RepeatNo, 0, redisErr,
		"The request can never succeed. For example, its `after` is so far in the future that no member can have issued that ID.",
		"Correct the request as the message says."},
	{Internal, codes.Internal, RepeatNo, 0, redisErr,
		"The request failed in a way that is not a refusal: a bug, or a member that halts. The request may have taken effect.",
		"Check the log of the process, and report a bug."},

	{WindowEnded, codes.Unavailable, RepeatYes, RetrySoon, redisLoading,
		"The window ended, and no new window was granted in time, usually because quorum is lost. Metadata: `until_at_ms`.",
		"Try another member, or [restore quorum](runbook.md#no-leader)."},
	{ClockBehind, codes.Unavailable, RepeatYes, 0, redisLoading,
		"A clock is behind by more than the wait threshold. Metadata: `behind_ms`, `limit_ms`.",
		"Try another member, and [correct the clock](runbook.md#clock-trouble). After a request with `after`, the clock of the member that issued that ID may be ahead instead."},
	{ClockSkew, codes.Unavailable, RepeatYes, RetrySoon, redisLoading,
		"A clock is ahead of the majority's clock by more than the limit. Metadata: `ahead_ms`, `limit_ms`.",
		"Try another member, and [correct the clock](runbook.md#clock-trouble)."},
	{WorkersExhausted, codes.ResourceExhausted, RepeatYes, 0, redisLoading,
		"Every worker of the layout is held, except the workers that are reserved for members: a quarter of all workers, at most 16. Or an API token holds its share of the other workers: half, unless `token-workers-percent` says otherwise. Metadata: `layout`, `retry_at_ms`.",
		"Try another member, which may hold a worker, or wait as long as the `RetryInfo` says. If a holder extends its window, the wait becomes longer. [Add workers, or remove holders](runbook.md#workers-exhausted)."},
	{WindowMismatch, codes.Aborted, RepeatNo, 0, "",
		"`ExtendWindow`, `ReleaseWorker`: the worker is not held under this token and window.",
		"Acquire another worker. Until then, you may issue IDs in the rest of your window."},
	{UnknownLayout, codes.NotFound, RepeatNo, 0, redisErr,
		"No layout has this name. Metadata: usually `layout`.",
		"See `snowraft layout list`, or create the layout with `snowraft layout create`."},
	{LayoutExists, codes.AlreadyExists, RepeatNo, 0, "",
		"Another layout has this name, and layouts never change.",
		"Choose another name, or use the existing layout."},
	{TimeExhausted, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The time field of the layout is full.",
		"Use a layout with more time bits or a later epoch."},
	{NotGranted, codes.NotFound, RepeatNo, 0, "",
		"`WhoIs`: the history has no window with this ID.",
		"Check the ID: it belongs to another layout, cluster or datacenter, was never issued, or is older than the history."},

	{Fenced, codes.Unavailable, RepeatYes, 0, redisLoading,
		"The cluster was restored from a backup, and holders may still issue IDs in windows that the earlier cluster granted. Or the clock is in the past of the layout. Metadata: `layout`, `retry_at_ms`.",
		"Wait as long as the `RetryInfo` says; `snowraft status` shows when the cluster issues IDs."},
	{NoPast, codes.FailedPrecondition, RepeatNo, 0, "",
		"The layout was created without a past, so it has no backfill jobs.",
		"Use a layout that was created with `--past`; see [layouts](layouts.md#ids-of-the-past)."},
	{PastClosed, codes.FailedPrecondition, RepeatNo, 0, "",
		"`StartBackfill`: the cluster was restored from a backup, and the earlier cluster may have started backfill jobs that the backup does not know.",
		"Open the past with `snowraft backfill resume --after JOB`."},
	{UnknownBackfill, codes.NotFound, RepeatNo, 0, "",
		"No backfill job of the layout has this number.",
		"See `snowraft backfill list`, or start a job."},
	{BackfillEnded, codes.FailedPrecondition, RepeatNo, 0, "",
		"The backfill job was ended, by a caller or by a restore.",
		"Start another job for the rest of the rows."},
	{BackfillPosition, codes.Aborted, RepeatNo, 0, "",
		"`BackfillIds`: the job has another position. Another caller continued it, or the request repeats an earlier one than the last.",
		"Start another job for the rows that have no ID. Use a job in one program at a time."},

	{UnknownSequence, codes.NotFound, RepeatNo, 0, redisErr,
		"No sequence has this name; the message lists similar names. Metadata: `sequence`.",
		"See `snowraft seq list`, or create the sequence with `snowraft seq create`."},
	{SequenceExists, codes.AlreadyExists, RepeatNo, 0, "",
		"`CreateSequence`: another sequence has this name.",
		"Choose another name, use the existing sequence, or change it with `snowraft seq update`."},
	{SequenceExhausted, codes.OutOfRange, RepeatNo, 0, redisErr,
		"The period has fewer numbers left than requested. Numbers do not wrap around.",
		"[Raise the bound](runbook.md#sequence-exhausted), request fewer numbers, or wait for the next period."},
	{SequenceChanged, codes.Aborted, RepeatByMethod, time.Millisecond, redisLoading,
		"The sequence was changed during the call.",
		"Try again at once if the method is repeatable. Otherwise, first check the sequence with `snowraft seq get`."},
	{GenerationMismatch, codes.Aborted, RepeatNo, 0, "",
		"The sequence, the token or the configuration does not have the `expected_generation`. Metadata: `generation`, which is the current generation.",
		"Check the current state with `snowraft seq get`, `snowraft token get` or `snowraft config get`. If you still want the change, repeat it with the generation that the command shows."},
	{WouldRepeat, codes.FailedPrecondition, RepeatNo, 0, "",
		"Numbers that were already issued could be issued again.",
		"[Choose a number beyond the granted ones](runbook.md#numbers-would-repeat), or use `--force` if repetitions do no harm. `--force-format` is for repeated texts."},
	{RedisCreateOff, codes.FailedPrecondition, RepeatNo, 0, "",
		"`CreateSequence` with `on_demand`: no sequence has this name, and `redis_create` of the configuration is `off`.",
		"Create the sequence with `snowraft seq create`, or [let `INCR` create sequences](redis.md#keys-without-a-sequence)."},
	{RequestIDReused, codes.AlreadyExists, RepeatNo, 0, "",
		"The request ID belongs to an earlier request with another count.",
		"Use a new request ID for each new request. Repeat a request only unchanged."},
	{StrictSequence, codes.FailedPrecondition, RepeatNo, 0, "",
		"`AllocateBlock`, `ReturnBlock`: the leader issues the numbers of a strict sequence, and grants no blocks of it.",
		"Request numbers with `NextNumbers`."},
	{NotLastBlock, codes.FailedPrecondition, RepeatNo, 0, "",
		"`ReturnBlock`: another block was granted since, this block was already returned, or the return key does not belong to the block.",
		"Do nothing. The unused end of the block becomes a gap."},

	{UnknownTemplate, codes.NotFound, RepeatNo, 0, "",
		"No template has this pattern.", "See `snowraft template list`."},
	{TemplateExists, codes.AlreadyExists, RepeatNo, 0, "",
		"A template with this pattern exists, with other settings.", "Update it with `snowraft template update`, or choose another pattern."},
	{TemplateSuspended, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The sequence does not exist, and the cluster was restored from a backup: the earlier cluster may have begun the sequence by its first use, and issued numbers of it.",
		"Resume the template with `snowraft template resume`."},
	{GaplessSequence, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The numbers of a gapless sequence are reserved under keys, and neither issued nor set.",
		"[Reserve a number](document-numbers.md), or create a strict sequence."},
	{NotGapless, codes.FailedPrecondition, RepeatNo, 0, "",
		"The sequence is not gapless, so it has no reservations.",
		"Create a sequence with `--mode gapless`."},
	{ReservationsOpen, codes.ResourceExhausted, RepeatLater, 0, "",
		"The sequence has 1,000 open reservations. The message names the key of the oldest one.",
		"[Find out what became of the open numbers](document-numbers.md#open-reservations), and confirm them or make them void."},
	{StaleAttempt, codes.FailedPrecondition, RepeatNo, 0, "",
		"The key was reserved again since the claim. Nothing was done.",
		"The caller of the last attempt decides. To take over, reserve the key again, and compare the number."},
	{UnknownReservation, codes.NotFound, RepeatNo, 0, "",
		"The key has no such reservation, it was settled more than an hour ago, or it is from before a restore.",
		"Compare the number with `snowraft seq audit`."},
	{AlreadySettled, codes.FailedPrecondition, RepeatNo, 0, "",
		"The number has another fate already, which never changes: it is confirmed, void or taken.",
		"Compare the number with the database of the application. `snowraft seq audit` shows its fate."},
	{NumberUnresolved, codes.FailedPrecondition, RepeatNo, 0, "",
		"A restore left it open what became of the number of this key.",
		"Resolve the number [by its row in the database](document-numbers.md#after-a-restore) with `snowraft seq resolve`."},

	{PeriodClosed, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The late time of the period has passed, or the sequence has no late time, so it issues no more numbers of the period.",
		"Use the present period. A longer late time (`snowraft seq update --late`) helps periods that have not closed."},
	{PeriodUnknown, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The cluster does not know how the period ended: it began before the sequence had a late time, or no number was granted in it.",
		"Give the next number of the period (`--from`)."},
	{SequenceFrozen, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The cluster was restored from a backup, and the earlier cluster may have granted more numbers of the sequence than the backup knows.",
		"Resume the sequence with `snowraft seq resume`, and a period that ended with `snowraft seq resume --period`."},
	{SequenceMoved, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The sequence moved to another system with `snowraft export`, and that system issues its numbers.",
		"Take the numbers there, or [move the sequence back](migrate.md#the-way-back)."},
	{RestoreUnacknowledged, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"The cluster was restored from a backup, and the earlier cluster may have had a sequence or a layout of this name that the backup does not know.",
		"After `snowraft restore acknowledge`, create the sequences that the backup lacks with a start beyond their numbers, and the layouts exactly as they were."},
	{OldClusterAlive, codes.Unavailable, RepeatYes, RetrySoon, redisLoading,
		"The cluster was restored from a backup, and a member of the earlier cluster runs, or a member of a second cluster from the same backup. This cluster grants nothing.",
		"[Stop every member of that cluster, or end it](backup.md#two-clusters-from-one)."},
	{Contradicted, codes.Unavailable, RepeatYes, 0, redisLoading,
		"A leader contradicts what this member knows to be committed, because disks were set back to earlier copies. This member issues nothing more.",
		"Try another member, and [restore the cluster](runbook.md#set-back)."},
	{SetBack, codes.FailedPrecondition, RepeatNo, 0, redisErr,
		"Members of the cluster were set back to an earlier state, for example by a snapshot of a virtual machine, so the cluster may have granted the same twice. It is sealed and grants nothing more.",
		"[Restore the cluster](runbook.md#set-back) with `snowraft restore`, from the directories of all members. Until then, every request for IDs, numbers, windows or blocks fails."},

	{UpgradeBlocked, codes.FailedPrecondition, RepeatNo, 0, "",
		"`FinalizeUpgrade`: a member does not know newer commands, or is not alive. The message names each such member.",
		"[Upgrade](upgrade.md) or start these members, or exclude them with `--without`."},

	{Unauthenticated, codes.Unauthenticated, RepeatNo, 0, "NOAUTH",
		"The request has no valid token: none was sent, or the token is unknown, was deleted, has expired, or lost a scope during the call.",
		"Send a valid token; see `snowraft token list`."},
	{PermissionDenied, codes.PermissionDenied, RepeatNo, 0, "NOPERM",
		"The token lacks a scope, which the message names, or the call is for members only.",
		"Use a token that has the scope, or add it with `snowraft token update`."},
	{RateLimited, codes.ResourceExhausted, RepeatLater, RetrySoon, redisLoading,
		"The token has used up its rate of IDs and numbers at this member.",
		"Wait as long as the `RetryInfo` says, or raise the rate with `snowraft token update`."},
	{UnknownToken, codes.NotFound, RepeatNo, 0, "",
		"No API token has this ID or name.",
		"See `snowraft token list`."},
	{TokenExists, codes.AlreadyExists, RepeatNo, 0, "",
		"`CreateToken`: another token has this name.",
		"Choose another name, or delete the token that has this name."},
	{ClusterOpen, codes.FailedPrecondition, RepeatNo, 0, "",
		"`CreateToken`, `UpdateToken`, `DeleteToken`, `VerifyToken`, `GET /v1/ca`, and every call to a gateway that has a token: the cluster has no secret. Anyone could create a token now, and it would be valid once the cluster has a secret. Only `anonymous` can get scopes for issuing before.",
		"[Secure the cluster](security.md#secure-a-running-cluster): start its members with `--secret-file`."},

	{UnknownMember, codes.NotFound, RepeatNo, 0, "",
		"No member has this ID or name.",
		"See `snowraft member list`."},
	{NamesIncomplete, codes.Unavailable, RepeatYes, RetrySoon, "",
		"This member has not learned the names of all members since it started, so the name may belong to several.",
		"Try again when all members are alive, or use the ID from `snowraft member list`."},
	{MemberUnreachable, codes.Unavailable, RepeatLater, 0, "",
		"`AddMember`: no member answers at that gossip address, or the member there has a different secret.",
		"Start the member. Check that the address is a gossip address, that both TCP and UDP reach it, and that both members have the same secret file."},
	{MemberNotAlive, codes.Unavailable, RepeatLater, 0, "",
		"`TransferLeadership`: the voter is not alive.",
		"Name a voter that is alive, or do not name any."},
	{OtherCluster, codes.FailedPrecondition, RepeatNo, 0, "",
		"The member belongs to another cluster.",
		"To let the member join this cluster, stop it and empty its data directory."},
	{NameTaken, codes.FailedPrecondition, RepeatNo, 0, "",
		"`AddMember`: another member has the name of the new one.",
		"Remove that member first, or start the new one with `--force-name` or another `--name`; see [name taken](runbook.md#name-taken)."},
	{ProgramTooOld, codes.FailedPrecondition, RepeatNo, 0, "",
		"`AddMember`: the new member runs a program that does not know the commands that the cluster uses.",
		"Start the newer program on that host; see [upgrades](upgrade.md#go-back)."},
	{NoSuccessor, codes.FailedPrecondition, RepeatNo, 0, "",
		"`TransferLeadership`: no other voter can become the leader, or the named member is a nonvoter.",
		"Name a voter that is alive, or add one."},
	{QuorumAtRisk, codes.FailedPrecondition, RepeatNo, 0, "",
		"Removing the member would leave too few live voters.",
		"Restart the other members first; see [removing](operate.md#remove-a-member)."},
	{AlreadyLeaving, codes.FailedPrecondition, RepeatNo, 0, "",
		"`Leave`: this member is leaving already.",
		"Wait until the process has exited."},
	{NotAMember, codes.FailedPrecondition, RepeatNo, 0, "",
		"Only a member can do this, and this process is a [gateway](gateway.md); or the gateway's `--members` lead back to the gateway itself.",
		"Send the request to a member, or name members in `--members`."},

	{UnknownEndpoint, codes.NotFound, RepeatNo, 0, "",
		"This process serves no such HTTP path or health service.",
		"Correct the path; `/openapi.json` lists all paths."},
	{MethodNotAllowed, codes.Unimplemented, RepeatNo, 0, "",
		"The HTTP path does not support this method; the header `Allow` lists the supported ones.",
		"Use one of the methods in `Allow`."},
	{BrowserRequest, codes.PermissionDenied, RepeatNo, 0, "",
		"A browser sent the request for a page of another site, to a host name that is not the member's, or as a prefetch.",
		"Send the request when it is needed, from a server or from a page of the same origin."},
}
