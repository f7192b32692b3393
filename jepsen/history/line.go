package history

import "time"

// Line is one line of the journal. Exactly one field is set.
type Line struct {
	Run      *Run      `json:"run,omitempty"`
	Layout   *Layout   `json:"layout,omitempty"`
	Sequence *Sequence `json:"sequence,omitempty"`
	Op       *Op       `json:"op,omitempty"`
	Process  *Process  `json:"process,omitempty"`
	Fault    *Fault    `json:"fault,omitempty"`
	Status   *Status   `json:"status,omitempty"`
	Phase    *Phase    `json:"phase,omitempty"`
	Note     *Note     `json:"note,omitempty"`
	Life     *Life     `json:"life,omitempty"`
	Template *Template `json:"template,omitempty"`
	Row      *Row      `json:"row,omitempty"`
	Account  *Account  `json:"account,omitempty"`
}

// Run is the header of the journal, its first line.
type Run struct {
	Seed      uint64   `json:"seed"`
	Members   []string `json:"members"`
	Workloads []string `json:"workloads"`
	Nemeses   []string `json:"nemeses"`
	Binary    string   `json:"binary"` // output of "snowraft version"
	Mutants   []string `json:"mutants,omitempty"`
	// WallNanos is the wall clock in Unix nanoseconds at the moment At.
	WallNanos int64 `json:"wall_ns"`
	At        int64 `json:"at"`
	// Rate is the approximate number of requests per second that each workload makes; 0 if unknown.
	Rate float64 `json:"rate,omitempty"`
	// WaitThresholdMillis and MaxOffsetMillis are the cluster's settings of clocks, in milliseconds.
	WaitThresholdMillis int64 `json:"wait_threshold_ms"`
	MaxOffsetMillis     int64 `json:"max_clock_offset_ms"`
	// MaxWindowMillis is the cluster's maximum window in milliseconds; 0 is the product's default.
	MaxWindowMillis int64 `json:"max_window_ms,omitempty"`
}

// Layout is the specification of a layout. Its fields are in order from the highest bits to the lowest.
type Layout struct {
	Name        string  `json:"name"`
	Fields      []Field `json:"fields"`
	UnitMillis  int64   `json:"unit_ms"`
	EpochMillis int64   `json:"epoch_at_ms"`
	Datacenter  uint64  `json:"datacenter,omitempty"`
	Spread      uint64  `json:"spread,omitempty"`
	LeaseOnly   bool    `json:"lease_only,omitempty"`
	Past        bool    `json:"past,omitempty"`
}

// Field is a bit field of a layout: time, datacenter, worker or sequence.
type Field struct {
	Kind string `json:"kind"`
	Bits uint   `json:"bits"`
}

// Sequence records the mode with which a sequence was created.
type Sequence struct {
	Name string `json:"name"`
	Mode string `json:"mode"` // ModeStrict, ModeRelaxed or ModeGapless
	// Reuses reports that the sequence may reserve void numbers again.
	Reuses bool `json:"reuses,omitempty"`
}

// The modes of a sequence.
const (
	ModeStrict  = "strict"
	ModeRelaxed = "relaxed"
	ModeGapless = "gapless"
)

// Outcome is the effect of an operation, as far as the client knows it.
type Outcome string

// The outcomes of an operation.
const (
	OK   Outcome = "ok"   // effect certain
	Fail Outcome = "fail" // no effect, now or later
	Info Outcome = "info" // effect unknown, now or later: timeouts, broken connections
)

// Op is an operation of a client.
type Op struct {
	// ID is unique in the run, and greater than 0.
	ID       uint64 `json:"id"`
	Workload string `json:"workload"`
	Client   uint32 `json:"client"`
	// Do is the kind of the operation: one of the constants below.
	Do string `json:"do"`
	// Key is the name of the layout or sequence. For DoAdmin, it names the change.
	Key     string  `json:"key,omitempty"`
	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
	Outcome Outcome `json:"outcome"`
	// Member is the name of the called host, and Start the start of the process at the other end of the
	// connection. They are empty and 0 if unknown.
	Member string `json:"member,omitempty"`
	Start  uint32 `json:"start,omitempty"`
	// Count is the number of IDs or numbers requested.
	Count uint32 `json:"count,omitempty"`
	// After is the floor in the request: all IDs of the answer must be greater.
	After uint64 `json:"after,omitempty"`
	// Session is the same for operations whose IDs must ascend; 0 for none.
	Session uint32 `json:"session,omitempty"`
	// First is the first of Count numbers that are Increment apart, in the answer to a DoNext, DoIncr or DoBlock.
	// In the answer to a DoRead, it is the last issued number.
	First     int64 `json:"first,omitempty"`
	Increment int64 `json:"increment,omitempty"`
	// Period is the first day of the period of the numbers, in the form 2026-11-22; empty without a reset. Text is the text of First.
	Period string `json:"period,omitempty"`
	Text   string `json:"text,omitempty"`
	// Claim is the reservation of a DoReserve, DoConfirm or DoVoid.
	Claim *Claim `json:"claim,omitempty"`
	// Fate is one of the fates below: of the number in the answer to a DoReserve, and in the request of a DoResolve or a DoReconcile.
	Fate string `json:"fate,omitempty"`
	// Only is the period that a DoReserve requests.
	Only string `json:"only,omitempty"`
	// State is the state of the number in the answer to a DoDecode: granted, not granted or unknown.
	State string `json:"state,omitempty"`
	// Job is the number of a backfill job, in the answer to a DoJob and in a DoBackfill. TimesMillis are the times of the rows of a
	// DoBackfill, in Unix milliseconds.
	Job         uint64  `json:"job,omitempty"`
	TimesMillis []int64 `json:"times_ms,omitempty"`
	// Grant is the granted or extended window in the answer to a DoAcquire or DoExtend.
	Grant *Lane `json:"grant,omitempty"`
	// RequestID names a request that may be repeated.
	RequestID string `json:"request_id,omitempty"`
	// Reason and Error describe the failure. Reason is one of the reasons in docs/errors.md.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
}

// The kinds of operations.
const (
	DoIDs     = "ids"     // request of IDs; a binary file holds those of the answer
	DoNext    = "next"    // request of numbers of a sequence
	DoRead    = "read"    // read of a sequence's last issued number
	DoIncr    = "incr"    // request of a number over the Redis protocol
	DoBlock   = "block"   // request of a block of numbers, which the client issues
	DoReturn  = "return"  // return of the end of a block; the block's own operation excludes the end
	DoAcquire = "acquire" // acquisition of a worker
	DoExtend  = "extend"  // extension of a window
	DoRelease = "release" // release of a worker
	DoAdmin   = "admin"   // change of the membership or the configuration, named by Key
	DoText    = "text"    // request of one number with its text
	DoReserve = "reserve" // reservation of a number of a gapless sequence
	DoConfirm = "confirm" // confirmation of a reserved number
	DoVoid    = "void"    // declaration that a reserved number is void
	DoTake    = "take"    // record of a number that was drawn elsewhere
	DoResolve = "resolve" // record of the fate of Count numbers that a restore left unknown
	// DoReconcile is a DoConfirm or a DoVoid, by its Fate, that the product's reconcile loop made.
	DoReconcile = "reconcile"
	DoDecode    = "decode"   // reading of a Text, of which First and Period are the answer
	DoJob       = "job"      // start of a backfill job of the layout Key
	DoBackfill  = "backfill" // request of IDs of the past of the layout Key, one for each row
)

// The fates of numbers of gapless sequences.
const (
	FateOpen      = "open"
	FateConfirmed = "confirmed"
	FateVoid      = "void"
	FateTaken     = "taken"
	FateUnknown   = "unknown"
)

// The states of a number in the answer to a DoDecode.
const (
	StateGranted    = "granted"
	StateNotGranted = "not granted"
	StateUnknown    = "unknown"
)

// Claim names an attempt of a reservation.
type Claim struct {
	Key         string `json:"key"`
	Reservation uint64 `json:"reservation"`
	Attempt     uint32 `json:"attempt"`
	// Never is the caller's word, in a DoVoid or DoReconcile, that the number can never be committed.
	Never bool `json:"never,omitempty"`
}

// NeededRemoval is the prefix of the Key of an operation that removes a founder without force, in a cluster
// where only the founders are voters. The founder's name follows.
const NeededRemoval = "remove-needed "

// Process records the start or the end of a process.
type Process struct {
	// Start is the number of this start among those of all processes of the run, from 1.
	Start uint32 `json:"start"`
	// Member is the name of the host. Generators have their own names.
	Member string `json:"member"`
	// Generator distinguishes embedded generators from members.
	Generator bool   `json:"generator,omitempty"`
	PID       int    `json:"pid"`
	At        int64  `json:"at"`
	Ended     bool   `json:"ended,omitempty"`
	Exit      string `json:"exit,omitempty"` // exit status or signal; for a generator within the harness, the result of Close
	Binary    string `json:"binary,omitempty"`
}

// Fault records the start or the end of a fault.
type Fault struct {
	// Event is the fault's number in the schedule, from 0.
	Event int    `json:"event"`
	Name  string `json:"name"` // name in the schedule, for example "isolate-leader"
	// Family is network, process, clock or disk.
	Family string `json:"family"`
	At     int64  `json:"at"`
	// Ended is false at the start and true at the end. A momentary fault has two lines as well.
	Ended bool `json:"ended,omitempty"`
	// Hosts are the names of the affected hosts.
	Hosts []string `json:"hosts,omitempty"`
	// OffsetNanos is the offset that a fault of clocks gives to the clocks of Hosts; 0 if the clocks drift.
	OffsetNanos int64  `json:"offset_ns,omitempty"`
	Detail      string `json:"detail,omitempty"`
	// Idle reports, at the end, that the fault had nothing to affect.
	Idle bool `json:"idle,omitempty"`
	// Failed is the error that prevented the fault. It makes the run invalid.
	Failed string `json:"failed,omitempty"`
}

// Status is the status that a member reported, or the error of the request.
type Status struct {
	Member string `json:"member"`
	Start  uint32 `json:"start"`
	// Call and Return are the times before and after the request. WallNanos is the harness's wall clock
	// just before Return.
	Call      int64 `json:"call"`
	Return    int64 `json:"return"`
	WallNanos int64 `json:"wall_ns"`
	// RanNanos and WaitedNanos are the times for which the threads of the process ran, and were ready and had no processor.
	RanNanos    int64 `json:"ran_ns,omitempty"`
	WaitedNanos int64 `json:"waited_ns,omitempty"`
	// Error is the error of the request. If it is set, all fields below are empty.
	Error          string `json:"error,omitempty"`
	MemberID       string `json:"member_id,omitempty"`
	LeaderID       string `json:"leader_id,omitempty"`
	Term           uint64 `json:"term,omitempty"`
	Commit         uint64 `json:"commit,omitempty"`
	Applied        uint64 `json:"applied,omitempty"`
	ObservedMillis int64  `json:"observed_clock_at_ms,omitempty"`
	ClockMillis    int64  `json:"clock_at_ms,omitempty"`
	OffsetMillis   int64  `json:"clock_offset_ms,omitempty"`
	// SkewCallNanos and SkewReturnNanos are the offset of the process's clock that the harness had set, at Call
	// and at Return.
	SkewCallNanos   int64  `json:"skew_call_ns,omitempty"`
	SkewReturnNanos int64  `json:"skew_return_ns,omitempty"`
	Problem         string `json:"problem,omitempty"`
	Lanes           []Lane `json:"lanes,omitempty"`
	Voter           bool   `json:"voter,omitempty"`
}

// Distinguishes reports whether the status took a short enough time to distinguish a clock with an offset, in
// nanoseconds, from a correct clock.
func (s *Status) Distinguishes(offset int64) bool {
	return time.Duration(offset).Abs() > time.Duration(2*(s.Return-s.Call))
}

// Lane is a lane of a status, or a window granted to a client. The ticks [From, Until) belong to the window.
type Lane struct {
	Layout string `json:"layout"`
	Worker uint64 `json:"worker"`
	Token  uint64 `json:"token"`
	From   int64  `json:"from_tick"`
	Until  int64  `json:"until_tick"`
}

// Phase marks a moment of the run.
type Phase struct {
	Name string `json:"name"` // one of the constants below
	At   int64  `json:"at"`
}

// The phases of a run, in chronological order.
const (
	PhaseLoad   = "load"   // start of the load
	PhaseFaults = "faults" // start of the faults
	PhaseHealed = "healed" // end of the last fault; the load continues
	PhaseEnd    = "end"    // end of the load
)

// Life is a later cluster of the run, restored from a backup after all members of the cluster before it stopped
// permanently. Its members have the names and addresses of the earlier members, and new data directories.
type Life struct {
	Number int   `json:"number"` // 2 for the first restored cluster
	At     int64 `json:"at"`     // moment after which no earlier member runs
	// Backup is the origin of the backup. TakenAt is the time at which the backup was complete.
	Backup  string `json:"backup"`
	TakenAt int64  `json:"taken_at"`
	// First is the host of the member that begins alone.
	First string `json:"first"`
	// ClusterID, Index, FloorMillis, IssuesMillis and Frozen are the output of "snowraft restore". The cluster issues
	// nothing before IssuesMillis.
	ClusterID    string `json:"cluster_id"`
	Index        uint64 `json:"index"`
	FloorMillis  int64  `json:"floor_at_ms"`
	IssuesMillis int64  `json:"issues_at_ms"`
	Frozen       int    `json:"frozen_sequences"`
}

// Template records the pattern of a template that begins sequences.
type Template struct {
	Pattern string `json:"pattern"`
}

// Row is a row of the database of documents at the end of the run. Sequence, Period and Number are unique.
type Row struct {
	Sequence string `json:"sequence"`
	Period   string `json:"period,omitempty"`
	Number   int64  `json:"number"`
	// Key is the key of the document; empty in the row of a void number.
	Key string `json:"key,omitempty"`
	// Elsewhere reports that the document's number was not reserved, but recorded by a DoTake.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Account is the account of a period of a gapless sequence at the end of the run, by the cluster.
type Account struct {
	Sequence string `json:"sequence"`
	Period   string `json:"period,omitempty"`
	// First and Last are the first number of the period and the greatest one that was drawn; 0 and -1 if there is none.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// The counts of the numbers with each fate. Missing numbers were not drawn, because a greater one was taken.
	Confirmed uint64 `json:"confirmed,omitempty"`
	Void      uint64 `json:"void,omitempty"`
	Taken     uint64 `json:"taken,omitempty"`
	Open      uint64 `json:"open,omitempty"`
	Unknown   uint64 `json:"unknown,omitempty"`
	Missing   uint64 `json:"missing,omitempty"`
	// Cut reports that a restore ended the record: an earlier cluster may have drawn numbers after Last.
	Cut bool `json:"cut,omitempty"`
	// Runs are the numbers that are not plainly confirmed, in ascending order.
	Runs []Numbers `json:"runs,omitempty"`
}

// Numbers are the numbers First, First + 1, ..., Count of them, with one fate.
type Numbers struct {
	First int64  `json:"first"`
	Count uint64 `json:"count"`
	Fate  string `json:"fate"`
}

// The notes that checkers read.
const (
	// NoteStranger is a note about a host whose member belongs to another cluster. Detail is the host's IP address.
	NoteStranger = "stranger"
	// NoteFinalize is a note about the first request to finalize the upgrade, written before it is sent.
	NoteFinalize = "finalize-requested"
	// NoteWrapped is a note about a fault that hit a process of a wrapped generator. Detail names it, such as "kill guard".
	NoteWrapped = "wrapped-fault"
	// NoteFrozen and NoteThawed are notes about a wrapped generator with all of its processes stopped: after the last
	// one stopped, and before the first one continues.
	NoteFrozen = "frozen"
	NoteThawed = "thawed"
	// NoteStepping and NoteStepped are notes about the clock of a wrapped generator, before and after it was set. Detail of the first
	// is the new offset from the machine's clock.
	NoteStepping = "clock-stepping"
	NoteStepped  = "clock-stepped"
	// NoteSealed is a note about the first time that a member reported that its cluster is sealed.
	NoteSealed = "sealed"
	// NoteHeard is a note about the first time that a member reported that it hears an older cluster.
	NoteHeard = "stopped by an older cluster"
	// NoteCrash is a note about a crash of an application of documents. Detail names the gap between two of its steps.
	NoteCrash = "application-crashed"
)

// Note is a remark for people and checkers.
type Note struct {
	At     int64  `json:"at"`
	Member string `json:"member,omitempty"`
	// What is a constant word such as "log-damaged" or "replaced".
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
}
