//go:build linux

package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Logged returns the number of lines with this text in the log of the member's running process.
func (m *Member) Logged(text string) (lines int, err error) {
	start := m.Current()
	if start == 0 {
		return 0, fmt.Errorf("%s is not running", m.Name)
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
