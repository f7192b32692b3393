// Package events keeps the recent events of a member, for people who look for the cause of a present problem. Each kind of
// event has its own bound, so that many events of one kind do not displace the others. Repetitions are folded into one event
// with a count. The main type is [Ring].
package events

import "log/slog"

// Kind is the subject of an event.
type Kind string

// The kinds of events. Their texts are part of the API.
const (
	Election       Kind = "election"       // leaders, and the reasons for changes
	Membership     Kind = "membership"     // joins, promotions, removals, and reachability of members
	Refusal        Kind = "refusal"        // failed requests, by reason
	Clock          Kind = "clock"          // clock jumps and offsets
	Window         Kind = "window"         // workers and windows of lanes, and blocks
	Administration Kind = "administration" // administrative calls that succeeded, and automatic changes by members
	Denial         Kind = "denial"         // administrative calls that were refused or failed
	Process        Kind = "process"        // starts, drains and halts
	Storage        Kind = "storage"        // snapshots and scheduled backups
)

// Event is one event, or several events of the same kind and key. A copy is independent of the ring.
type Event struct {
	// Sequence numbers the events of a process in the order in which they began.
	Sequence uint64
	Kind     Kind
	Level    slog.Level
	Text     string // human-readable; at most about 400 printable characters
	// Count is the number of occurrences, at least 1.
	Count uint64
	// FirstMillis and LastMillis are the times of the first and the last occurrence, in Unix ms, by the majority's clock as
	// the member knew it.
	FirstMillis, LastMillis int64
	// Actor is the caller whose request changed something; empty otherwise.
	Actor string
	// Address is the address of the caller; empty otherwise.
	Address string
	// Reason is the reason of a refusal or a denial; empty otherwise.
	Reason string
	// Named is the sequence that Text names, in quotes; empty without one.
	Named string
	// Index is the Raft log index of the change; 0 without one.
	Index uint64
}

// discard drops all events.
type discard struct{}

// Note does nothing.
func (discard) Note(Kind, slog.Level, string) {}

// Discard drops all events. It is for processes without a [Ring].
var Discard discard
