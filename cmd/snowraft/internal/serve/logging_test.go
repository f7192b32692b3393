package serve

import (
	"bytes"
	"log/slog"
	"regexp"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

func TestConsole(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := slog.New(newConsoleHandler(&buf, slog.LevelInfo, cli.Style{}))
	log.Debug("not shown")
	log.Info("plain")
	log.With("member", "a").WithGroup("raft").Warn("with attributes", "term", 7, "why", "two words")
	want := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} INFO plain\n\d\d:\d\d:\d\d\.\d{3} WARN with attributes  member=a raft\.term=7 raft\.why="two words"\n$`)
	if !want.MatchString(buf.String()) {
		t.Errorf("the log is %q", buf.String())
	}
	buf.Reset()
	slog.New(newConsoleHandler(&buf, slog.LevelInfo, cli.Style{Colours: true})).Error("red")
	if !bytes.Contains(buf.Bytes(), []byte("\x1b[31mERRO\x1b[0m red")) {
		t.Errorf("the log is %q", buf.String())
	}
}

func TestColoursOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	if terminal, s := a.Terminal(a.Stdout); terminal || s.Colours {
		t.Error("a buffer counts as a terminal")
	}
}
