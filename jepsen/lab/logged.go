//go:build linux

package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Logged counts the lines of the log of the member's process, of the start that runs, that
// have some text.
func (m *Member) Logged(text string) (lines int, err error) {
	start := m.Current()
	if start == 0 {
		return 0, fmt.Errorf("%s does not run", m.Name)
	}
	raw, err := os.ReadFile(filepath.Join(m.lab.logs(), fmt.Sprintf("%s.%d.log", m.Name, start)))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(raw) {
		if bytes.Contains(line, []byte(text)) {
			lines++
		}
	}
	return lines, nil
}
