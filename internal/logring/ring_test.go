package logring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/race"
)

// nowhere returns an enabled handler that discards records.
func nowhere() slog.Handler {
	return slog.NewTextHandler(struct{ io.Writer }{io.Discard}, nil)
}

type broken struct{}

func (broken) Error() string { panic("no text") }

func TestLinesKeepTheirAttributes(t *testing.T) {
	t.Parallel()
	ring, began := New(), time.Now()
	log := slog.New(ring.Handler(nowhere())).With("member", "a")
	log.Debug("below the level")
	log.Info("plain", "n", 7, "u", uint64(8), "f", 1.5, "yes", true, "for", time.Second, "at", time.Unix(1, 0).UTC())
	log.WithGroup("raft").With("term", 3).Warn("texts", "error", errors.New("refused"), "list", []string{"x"},
		slog.Group("peer", "name", "b"), "panic", broken{}, "nothing", nil)
	lines := ring.Lines()
	want := []Line{
		{Level: slog.LevelInfo, Message: "plain", Attrs: []Attr{
			{"member", "a", false}, {"n", "7", true}, {"u", "8", true}, {"f", "1.5", true}, {"yes", "true", true}, {"for", "1s", true},
			{"at", "1970-01-01T00:00:01Z", true}}},
		{Level: slog.LevelWarn, Message: "texts", Attrs: []Attr{
			{"member", "a", false}, {"raft.term", "3", true}, {"raft.error", "refused", false}, {"raft.list", "[x]", false},
			{"raft.peer.name", "b", false}, {"raft.panic", "!PANIC", false}, {"raft.nothing", "<nil>", false}}},
	}
	for i := range lines {
		if at := lines[i].Time; at.Before(began) || at.After(time.Now()) {
			t.Errorf("time %v", lines[i].Time)
		}
		lines[i].Time = time.Time{}
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("Lines() = %+v\nwant      %+v", lines, want)
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		logged int
		lines  int // at least
	}{
		"by lines": {"x", 12_345, MaxLines},
		"by bytes": {strings.Repeat("x", 2000), 5000, MaxBytes / 2100},
		"long":     {strings.Repeat("x", 10*maxText), 1000, MaxBytes / chunkBytes},
	} {
		ring := New()
		log := slog.New(ring.Handler(nowhere()))
		for i := range c.logged {
			log.Info("line", "i", i, "text", c.text)
		}
		lines := ring.Lines()
		if len(lines) > MaxLines || len(lines) < c.lines {
			t.Errorf("%s: %d lines, want at least %d", name, len(lines), c.lines)
		}
		for i, l := range lines {
			if want := fmt.Sprint(c.logged - len(lines) + i); len(l.Attrs) != 2 || l.Attrs[0].Value != want {
				t.Fatalf("%s: line %d of %d: %v, want i=%s", name, i, len(lines), l.Attrs, want)
			}
		}
		held := 0
		for _, c := range ring.chunks {
			held += cap(c.buf)
		}
		if held > MaxBytes {
			t.Errorf("%s: %d bytes, want at most %d", name, held, MaxBytes)
		}
	}
}

func TestManyLongAttributesAreCut(t *testing.T) {
	t.Parallel()
	ring := New()
	long := strings.Repeat("y", maxText)
	log := slog.New(ring.Handler(nowhere())).With("a", long, "b", long, "c", long)
	log.Info("first", "d", long, "e", long, "f", long, "term", 3)
	log.Info("second")
	lines := ring.Lines()
	if len(lines) != 2 || lines[1].Message != "second" {
		t.Fatalf("%d lines", len(lines))
	}
	if attrs := lines[0].Attrs; attrs[0].Key != "a" || attrs[len(attrs)-1] != (Attr{"term", "3", true}) {
		t.Errorf("%d attributes, the last is %s", len(attrs), attrs[len(attrs)-1].Key)
	}
}

func TestRingTakesLinesFromManyGoroutines(t *testing.T) {
	t.Parallel()
	ring := New()
	log := slog.New(ring.Handler(nowhere()))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				log.Info("line", "i", i)
				if i%100 == 0 {
					ring.Lines()
				}
			}
		})
	}
	wg.Wait()
	if n := len(ring.Lines()); n != 4000 {
		t.Errorf("%d lines, want 4000", n)
	}
}

func TestFullRingAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	ring := New()
	h := ring.Handler(nowhere())
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "window extended again", 0)
	r.AddAttrs(slog.Int64("worker", 7), slog.String("layout", "default"))
	for range MaxLines * 2 {
		_ = h.Handle(context.Background(), r)
	}
	if allocs := testing.AllocsPerRun(5000, func() { _ = h.Handle(context.Background(), r) }); allocs > 0 {
		t.Errorf("%v allocations per line", allocs)
	}
}
