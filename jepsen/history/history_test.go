package history_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := history.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := history.Op{ID: 1, Workload: "ids", Do: history.DoIDs, Call: 5, Return: 9, Outcome: history.Info, After: 1<<63 + 1}
	j.Add(history.Line{Op: &want})
	j.Add(history.Line{Phase: &history.Phase{Name: history.PhaseEnd, At: 10}})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var lines []history.Line
	for l, err := range history.Lines(dir) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 2 || !reflect.DeepEqual(*lines[0].Op, want) || lines[1].Phase.Name != history.PhaseEnd {
		t.Errorf("Lines() = %+v, want operation %+v and phase %q", lines, want, history.PhaseEnd)
	}
	if _, err := history.Create(dir); err == nil {
		t.Error("Create() succeeded in a directory with a journal, want error")
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := history.CreateIDs(dir, "default", 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Issued{
		{First: 7, Step: 1, Op: 1, Call: 2, Return: 3, Count: 100, Start: 4, Session: 5, Client: 6},
		{First: 1<<64 - 2, Step: 1, Count: 2},
	}
	for _, i := range want {
		w.Add(i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := history.IDFiles(dir)
	if err != nil || len(files["default"]) != 1 {
		t.Fatalf("IDFiles() = %v, %v, want one file of layout default", files, err)
	}
	path := files["default"][0]
	read := func() (all []history.Issued, err error) {
		for i, err := range history.ReadIDs(path) {
			if err != nil {
				return nil, err
			}
			all = append(all, i)
		}
		return all, nil
	}
	if got, err := read(); err != nil || !slices.Equal(got, want) {
		t.Errorf("ReadIDs() = %+v, %v, want %+v", got, err, want)
	}
	appendTo(t, path, make([]byte, history.IssuedSize-1))
	if got, err := read(); err != nil || !slices.Equal(got, want) {
		t.Errorf("with a truncated record: ReadIDs() = %+v, %v, want %+v", got, err, want)
	}
	appendTo(t, path, make([]byte, 1))
	if _, err := read(); err == nil {
		t.Error("ReadIDs() accepted an empty range, want error")
	}
}

func TestParseIssuedRefuses(t *testing.T) {
	t.Parallel()
	for _, i := range []history.Issued{{}, {First: 1<<64 - 1, Step: 1, Count: 2}, {Count: 2}, {Step: 1 << 63, Count: 3}} {
		if got, err := history.ParseIssued(i.Append(nil)); err == nil {
			t.Errorf("ParseIssued() = %+v, want error", got)
		}
	}
}

func appendTo(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
