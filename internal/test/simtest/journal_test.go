package simtest

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
)

// journalLines is the number of last lines that a failed test shows.
const journalLines = 200

// journal keeps the last lines that the members logged, for failed tests.
type journal struct {
	out   io.Writer
	level slog.Level

	mu    sync.Mutex
	lines []string
	next  int
}

func newJournal(t *testing.T) *journal {
	j := &journal{level: slog.LevelInfo, lines: make([]string, journalLines)}
	if text := os.Getenv("SNOWRAFT_SIM_LOG"); text != "" {
		j.out = t.Output()
		if err := j.level.UnmarshalText([]byte(text)); err != nil {
			t.Fatalf("SNOWRAFT_SIM_LOG: %v", err)
		}
	}
	return j
}

func (j *journal) logger(name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: j.level})).With("on", name)
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lines == nil {
		return len(line), nil
	}
	if j.out != nil {
		return j.out.Write(line)
	}
	j.lines[j.next%len(j.lines)] = string(line)
	j.next++
	return len(line), nil
}

// dump shows the kept lines, and stops the journal.
func (j *journal) dump(t *testing.T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.out == nil {
		for i := range j.lines {
			if line := j.lines[(j.next+i)%len(j.lines)]; line != "" {
				io.WriteString(t.Output(), line)
			}
		}
	}
	j.lines = nil
}
