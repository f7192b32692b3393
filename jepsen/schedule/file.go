package schedule

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Plan is the content of a schedule file: a header line, then one event per line. It contains all inputs that make a run
// repeatable, except for the interleaving.
type Plan struct {
	Header
	Events []Event
}

// Header is the first line of a schedule file: the parameters of the run.
type Header struct {
	Seed      uint64   `json:"seed"`
	Members   int      `json:"members"`
	Duration  Duration `json:"duration"` // duration of the faults
	Workloads []string `json:"workloads"`
	// Rate is the approximate number of requests per second of each workload; 0 means [DefaultRate].
	Rate float64 `json:"rate,omitempty"`
	// MaxWindow is the longest window that a leader grants; 0 means the default of runs.
	MaxWindow Duration `json:"max_window,omitempty"`
	// Secured means that members have a secret, and clients have tokens.
	Secured bool `json:"secured,omitempty"`
	// Mixed means that members are upgraded to the next version, and back until the upgrade is finalized.
	Mixed bool `json:"mixed,omitempty"`
	// Flags are additional flags of "snowraft serve" for each member. Mutants are bugs to plant in the members.
	Flags   []string `json:"flags,omitempty"`
	Mutants []string `json:"mutants,omitempty"`
}

// DefaultRate is the default of Header.Rate, in requests per second.
const DefaultRate = 200

// Write writes a plan to a new file. The file must not exist.
func Write(path string, p Plan) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	if err := enc.Encode(p.Header); err != nil {
		return err
	}
	for _, e := range p.Events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write schedule: %w", err)
	}
	if _, err := f.Write(buf.Bytes()); err != nil {
		_ = f.Close()
		return fmt.Errorf("write schedule: %w", err)
	}
	return f.Close()
}

// Read reads a plan from a file. An unknown field is an error, because the run would differ from the plan.
func Read(path string) (Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return Plan{}, fmt.Errorf("read schedule: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	var p Plan
	s := bufio.NewScanner(f)
	for number := 1; s.Scan(); number++ {
		var into any = &p.Header
		if number > 1 {
			p.Events = append(p.Events, Event{})
			into = &p.Events[len(p.Events)-1]
		}
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return Plan{}, fmt.Errorf("read schedule %s, line %d: %w", path, number, err)
		}
	}
	if err := s.Err(); err != nil {
		return Plan{}, fmt.Errorf("read schedule: %w", err)
	}
	return p, nil
}
