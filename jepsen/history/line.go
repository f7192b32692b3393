package history

// Line is one line of the journal; one field is set.
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
}

// Run is the first line.
type Run struct {
	Seed      uint64   `json:"seed"`
	Members   []string `json:"members"`
	Workloads []string `json:"workloads"`
	Nemeses   []string `json:"nemeses"`
	Binary    string   `json:"binary"` // what "snowraft version" says
	Mutants   []string `json:"mutants,omitempty"`
	// WallNanos is the wall clock, in Unix nanoseconds, at the moment At.
	WallNanos int64 `json:"wall_ns"`
	At        int64 `json:"at"`
	// Rate is the number of requests per second that each workload was to make, roughly; 0 if that is not known.
	Rate float64 `json:"rate,omitempty"`
	// WaitThresholdMillis and MaxOffsetMillis are the cluster's configuration, in milliseconds.
	WaitThresholdMillis int64 `json:"wait_threshold_ms"`
	MaxOffsetMillis     int64 `json:"max_clock_offset_ms"`
	// MaxWindowMillis is the same for the maximum window; 0 is the product's default.
	MaxWindowMillis int64 `json:"max_window_ms,omitempty"`
}

// Layout says how the IDs of a layout are split. Its fields go from the highest bits to the lowest.
type Layout struct {
	Name        string  `json:"name"`
	Fields      []Field `json:"fields"`
	UnitMillis  int64   `json:"unit_ms"`
	EpochMillis int64   `json:"epoch_at_ms"`
	Datacenter  uint64  `json:"datacenter,omitempty"`
	Spread      uint64  `json:"spread,omitempty"`
}

// Field is a bit field of a layout: time, datacenter, worker or sequence.
type Field struct {
	Kind string `json:"kind"`
	Bits uint   `json:"bits"`
}

// Sequence says how a sequence was created.
type Sequence struct {
	Name string `json:"name"`
	Mode string `json:"mode"` // ModeStrict or ModeRelaxed
}

// The modes of a sequence.
const (
	ModeStrict  = "strict"
	ModeRelaxed = "relaxed"
)

// Outcome is what a client knows of an operation.
type Outcome string

// What a client may know of an operation.
const (
	OK   Outcome = "ok"   // it was done
	Fail Outcome = "fail" // it was not done and never will be
	Info Outcome = "info" // it may have been done or not, or may still be done: timeouts, broken connections
)

// Op is an operation of a client.
type Op struct {
	// ID is unique in the run, and greater than 0.
	ID       uint64 `json:"id"`
	Workload string `json:"workload"`
	Client   uint32 `json:"client"`
	// Do is what was requested: one of the constants below.
	Do string `json:"do"`
	// Key is the name of the layout or sequence, or of the member that an admin's operation is about.
	Key     string  `json:"key,omitempty"`
	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
	Outcome Outcome `json:"outcome"`
	// Member is the name of the host that was asked, Start the start of its process that the
	// connection led to; empty and 0 if that is not known.
	Member string `json:"member,omitempty"`
	Start  uint32 `json:"start,omitempty"`
	// Count is the number of IDs or numbers requested.
	Count uint32 `json:"count,omitempty"`
	// After is the floor that the request carried; IDs have to be greater.
	After uint64 `json:"after,omitempty"`
	// Session is shared by operations whose IDs have to ascend; 0 for none.
	Session uint32 `json:"session,omitempty"`
	// First is the first of Count numbers that are Increment apart, of an answered Next, Incr or Block.
	First     int64 `json:"first,omitempty"`
	Increment int64 `json:"increment,omitempty"`
	// Grant is the window that was granted or extended, of an answered Acquire or Extend.
	Grant *Lane `json:"grant,omitempty"`
	// RequestID names a request that may be repeated.
	RequestID string `json:"request_id,omitempty"`
	// Reason and Error say why it failed; Reason is one of docs/grpc.md.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
}

// What operations do.
const (
	DoIDs     = "ids"     // IDs; those of an answer are in a binary file
	DoNext    = "next"    // numbers of a sequence
	DoRead    = "read"    // the last number issued of a sequence, in First
	DoIncr    = "incr"    // a number over the Redis protocol
	DoBlock   = "block"   // a block of numbers, for a client that issues them itself
	DoReturn  = "return"  // the end of a block; the block's own operation is without it
	DoAcquire = "acquire" // a worker
	DoExtend  = "extend"  // a window
	DoRelease = "release" // a worker
	DoAdmin   = "admin"   // a change of the membership or the configuration; Key says which
)

// NeededRemoval begins the Key of an operation that asks to remove a founder without force, whose name
// follows, in a cluster where only the founders have a vote.
const NeededRemoval = "remove-needed "

// Process records a process's start or end.
type Process struct {
	// Start numbers the starts of all processes of the run, from 1.
	Start uint32 `json:"start"`
	// Member is the name of the host; generators have names of their own.
	Member string `json:"member"`
	// Generator tells embedded generators from members.
	Generator bool   `json:"generator,omitempty"`
	PID       int    `json:"pid"`
	At        int64  `json:"at"`
	Ended     bool   `json:"ended,omitempty"`
	Exit      string `json:"exit,omitempty"` // how it ended
	Binary    string `json:"binary,omitempty"`
}

// Fault records that a fault of the schedule began or ended.
type Fault struct {
	// Event is its number in the schedule, from 0.
	Event int    `json:"event"`
	Name  string `json:"name"` // as in the schedule, for example "isolate-leader"
	// Family is network, process, clock or disk.
	Family string `json:"family"`
	At     int64  `json:"at"`
	// Ended is false when it began. A fault of a moment begins and ends at once, in two lines.
	Ended bool `json:"ended,omitempty"`
	// Hosts are the names of those that it hit.
	Hosts []string `json:"hosts,omitempty"`
	// OffsetNanos is how far the clocks of Hosts were set off, if it is a fault of clocks; 0 if they
	// went further and further.
	OffsetNanos int64  `json:"offset_ns,omitempty"`
	Detail      string `json:"detail,omitempty"`
	// Idle says, at its end, that nothing came that it could have hit.
	Idle bool `json:"idle,omitempty"`
	// Failed says why the fault could not be made; the run is then worth nothing.
	Failed string `json:"failed,omitempty"`
}

// Status is what a member said of itself.
type Status struct {
	Member string `json:"member"`
	Start  uint32 `json:"start"`
	// Call and Return are around the question, WallNanos is the harness's own clock, just before Return.
	Call      int64 `json:"call"`
	Return    int64 `json:"return"`
	WallNanos int64 `json:"wall_ns"`
	// Error is why there was no answer; then all below is empty.
	Error          string `json:"error,omitempty"`
	MemberID       string `json:"member_id,omitempty"`
	LeaderID       string `json:"leader_id,omitempty"`
	Term           uint64 `json:"term,omitempty"`
	Commit         uint64 `json:"commit,omitempty"`
	Applied        uint64 `json:"applied,omitempty"`
	ObservedMillis int64  `json:"observed_clock_at_ms,omitempty"`
	ClockMillis    int64  `json:"clock_at_ms,omitempty"`
	OffsetMillis   int64  `json:"clock_offset_ms,omitempty"`
	// SkewNanos is how far the harness had set the process's clock off, at Call and at Return.
	SkewCallNanos   int64  `json:"skew_call_ns,omitempty"`
	SkewReturnNanos int64  `json:"skew_return_ns,omitempty"`
	Problem         string `json:"problem,omitempty"`
	Lanes           []Lane `json:"lanes,omitempty"`
	Voter           bool   `json:"voter,omitempty"`
}

// Lane is a lane of a status.
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

// The phases of a run, in their order.
const (
	PhaseLoad   = "load"   // clients begin
	PhaseFaults = "faults" // faults begin
	PhaseHealed = "healed" // the last fault has ended; clients go on
	PhaseEnd    = "end"    // clients have ended
)

// Life is a cluster of the run after the first one: it begins with a backup, after all members of the one before it have
// ended for good. Its members have the names and the addresses of the earlier ones, and new data directories.
type Life struct {
	Number int   `json:"number"` // from 2 on
	At     int64 `json:"at"`     // no earlier member runs from then on
	// Backup says where the state comes from, TakenAt is when the backup was complete.
	Backup  string `json:"backup"`
	TakenAt int64  `json:"taken_at"`
	// First is the host of the member that begins alone.
	First string `json:"first"`
	// ClusterID, Index, FloorMillis, IssuesMillis and Frozen are what "snowraft restore" said: nothing is issued before
	// IssuesMillis.
	ClusterID    string `json:"cluster_id"`
	Index        uint64 `json:"index"`
	FloorMillis  int64  `json:"floor_at_ms"`
	IssuesMillis int64  `json:"issues_at_ms"`
	Frozen       int    `json:"frozen_sequences"`
}

// The notes that checkers read.
const (
	// NoteStranger is a note about a host whose member is of another cluster; Detail is its IP address.
	NoteStranger = "stranger"
	// NoteFinalize is a note about the first request to finalize the upgrade, written before it is sent.
	NoteFinalize = "finalize-requested"
)

// Note is something to know, for people and for the vacuity check.
type Note struct {
	At     int64  `json:"at"`
	Member string `json:"member,omitempty"`
	// What is a constant word such as "log-damaged" or "replaced".
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
}
