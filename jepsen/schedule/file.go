package schedule

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Plan is a schedule as a file holds it: a line that says for what run it is, then an
// event a line. What makes a run the same again, as far as that is possible, is in it.
type Plan struct {
	Header
	Events []Event
}

// Header is the first line.
type Header struct {
	Seed      uint64   `json:"seed"`
	Members   int      `json:"members"`
	Duration  Duration `json:"duration"` // of the part with faults
	Workloads []string `json:"workloads"`
	// Rate is the number of requests per second that each workload makes, roughly; 0 is [DefaultRate].
	Rate float64 `json:"rate,omitempty"`
	// MaxWindow is the longest window that is granted; 0 is the one of other runs.
	MaxWindow Duration `json:"max_window,omitempty"`
	// Secured says that members have a secret, and clients tokens.
	Secured bool `json:"secured,omitempty"`
	// Mixed says that members are upgraded to the next version, and back until that is final.
	Mixed bool `json:"mixed,omitempty"`
	// Flags are added to "snowraft serve" of each member, Mutants are bugs to plant in them.
	Flags   []string `json:"flags,omitempty"`
	Mutants []string `json:"mutants,omitempty"`
}

// DefaultRate is the number of requests per second that a workload makes by default.
const DefaultRate = 200

// Write writes a plan to a file that must not exist.
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
		return fmt.Errorf("the schedule: %w", err)
	}
	if _, err := f.Write(buf.Bytes()); err != nil {
		_ = f.Close()
		return fmt.Errorf("the schedule: %w", err)
	}
	return f.Close()
}

// Read reads a plan from a file. A field that it does not know is an error, since the
// run would be another one.
func Read(path string) (Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return Plan{}, fmt.Errorf("the schedule: %w", err)
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
			return Plan{}, fmt.Errorf("the schedule %s, line %d: %w", path, number, err)
		}
	}
	if err := s.Err(); err != nil {
		return Plan{}, fmt.Errorf("the schedule: %w", err)
	}
	return p, nil
}
