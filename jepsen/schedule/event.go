// Package schedule defines the plan of a run: its parameters, and its faults as a list of events. A seed expands to such a
// list. A file holds the plan, so that the run can be repeated. The main type is [Plan].
package schedule

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is one fault.
type Event struct {
	// At is the time from the beginning of all faults to the beginning of this one.
	At Duration `json:"at"`
	// For is the duration of the fault; 0 for a momentary fault.
	For Duration `json:"for,omitempty"`
	// Fault is the name of the fault, such as "isolate".
	Fault string `json:"fault"`
	// On selects the targets: a host's name, "leader", "follower", "majority", "minority" or "all". The selection is made
	// when the fault begins.
	On string `json:"on,omitempty"`
	// How is the variant of the fault, such as "drop" or "reset".
	How string `json:"how,omitempty"`
	// Amount is a duration, a share or a rate, depending on the fault.
	Amount string `json:"amount,omitempty"`
	// Seed is the seed of random choices within the fault.
	Seed uint64 `json:"seed,omitempty"`
}

// Duration is a time.Duration with a text encoding, such as "1.5s".
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if v < 0 {
		return fmt.Errorf("duration %s: must not be negative", text)
	}
	*d = Duration(v)
	return nil
}
