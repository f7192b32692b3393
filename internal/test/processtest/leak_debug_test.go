//go:build process

package processtest

import (
	"path/filepath"
	"testing"
)

// debug writes a debug archive.
func (s *secretive) debug(t *testing.T, where string, flags ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "debug")
	mustRun(t, append([]string{"debug", file}, flags...)...)
	for _, content := range unpack(t, file) {
		s.add(where, []byte(content))
	}
	if len(s.out[where]) < 1000 {
		t.Fatalf("%s has %d bytes", where, len(s.out[where]))
	}
}
