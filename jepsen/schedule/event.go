// Package schedule says which faults a run makes, and when: a list of events, which a
// seed expands to, and which stands in a file that can be played again.
package schedule

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is one fault.
type Event struct {
	// At is when it begins, since the faults of the run began.
	At Duration `json:"at"`
	// For is the time that it lasts; 0 for a fault of a moment.
	For Duration `json:"for,omitempty"`
	// Fault names it, for example "isolate".
	Fault string `json:"fault"`
	// On says whom it hits: a host's name, "leader", "follower", "majority", "minority" or "all".
	// Who that is shows when it begins.
	On string `json:"on,omitempty"`
	// How tells the kinds of a fault apart, for example "drop" and "reset".
	How string `json:"how,omitempty"`
	// Amount is a duration, a share or a rate, as the fault says.
	Amount string `json:"amount,omitempty"`
	// Seed decides what is left to chance within the fault.
	Seed uint64 `json:"seed,omitempty"`
}

// Duration is a time.Duration that is written as text, such as "1.5s".
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
		return fmt.Errorf("%s is negative", text)
	}
	*d = Duration(v)
	return nil
}
