// Package events keeps what happened to a member lately, for people who look for the reason of what they see now. It
// is bounded by kind, so that no storm of one kind drives out the others, and it folds repetitions into one event with a
// count.
package events

import "log/slog"

// Kind is the subject of an event.
type Kind string

// The kinds. They are the words of the API.
const (
	Election       Kind = "election"       // who leads, and why
	Membership     Kind = "membership"     // joins, promotions, removals, and who is reached
	Refusal        Kind = "refusal"        // requests that failed, by reason
	Clock          Kind = "clock"          // jumps and offsets
	Window         Kind = "window"         // workers and windows of lanes, and blocks
	Administration Kind = "administration" // administrative calls that were done, and what members change by themselves
	Denial         Kind = "denial"         // administrative calls that were refused or failed
	Process        Kind = "process"        // starts, drains and halts
	Storage        Kind = "storage"        // snapshots
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Election, Membership, Refusal, Clock, Window, Administration, Denial, Process, Storage}
}

// Event is one event, or several alike.
type Event struct {
	// Sequence numbers the events of a process in the order in which they began.
	Sequence uint64
	Kind     Kind
	Level    slog.Level
	Text     string
	// Count is the number of times that it happened, at least 1.
	Count uint64
	// FirstMillis and LastMillis are the times of the first and the last occurrence in Unix ms, by the clock of the
	// majority as the member knew it.
	FirstMillis, LastMillis int64
	// Actor is the caller whose request changed something; empty otherwise.
	Actor string
	// Address is the address of the caller; empty otherwise.
	Address string
	// Reason is the reason of a refusal or a denial; empty otherwise.
	Reason string
	// Index is the index in the Raft log of the change; 0 for none.
	Index uint64
}

// discard takes events and keeps none.
type discard struct{}

// Note does nothing.
func (discard) Note(Kind, slog.Level, string) {}

// Discard is for processes without a [Ring].
var Discard discard
