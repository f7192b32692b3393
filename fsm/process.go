package fsm

import (
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Process describes the process of a holder, for people. It never changes, so states share it.
type Process struct{ Host, ID, Kind, Version string }

// processOf returns the process in a command or a snapshot; nil without one.
func processOf(m *commandv1.HolderProcess) (*Process, error) {
	if m == nil {
		return nil, nil
	}
	p := &Process{Host: m.GetHost(), ID: m.GetProcessId(), Kind: m.GetKind(), Version: m.GetVersion()}
	if *p == (Process{}) {
		return nil, fmt.Errorf("process: expected at least one text; leave the process out")
	}
	for _, part := range []struct{ name, text string }{
		{"host", p.Host}, {"process ID", p.ID}, {"kind", p.Kind}, {"version", p.Version},
	} {
		if len(part.text) > limits.DescriptionBytes {
			return nil, fmt.Errorf("%s of the process with %d bytes: expected at most %d", part.name, len(part.text), limits.DescriptionBytes)
		}
		if err := names.CheckText(part.name+" of the process", part.text); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// message returns the form of a process in commands and snapshots; nil for no process.
func (p *Process) message() *commandv1.HolderProcess {
	if p == nil {
		return nil
	}
	return &commandv1.HolderProcess{Host: p.Host, ProcessId: p.ID, Kind: p.Kind, Version: p.Version}
}

func (p *Process) equal(q *Process) bool { return p == q || p != nil && q != nil && *p == *q }
