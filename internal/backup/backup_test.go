package backup_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// header returns a header that Read accepts.
func header() *commandv1.BackupHeader {
	return &commandv1.BackupHeader{
		ClusterId: "50d28448-6dfe-4a73-ab47-6105a27ac055", Index: 23, Term: 2, TakenAtMs: 1_795_403_036_444,
		MaxWindowMs: 600_000, MaxClockOffsetMs: 500, Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
		MemberId: "8272a339-819c-46e5-b94c-bda5f65fffda", MemberName: "a",
		Members: []*commandv1.BackupMember{{Id: "8272a339-819c-46e5-b94c-bda5f65fffda", Name: "a", RaftAddress: "10.0.0.1:7702", ApiAddress: "10.0.0.1:7700", Voter: true}},
	}
}

// state returns a state with a sequence.
func state(t testing.TB) *fsm.State {
	t.Helper()
	s := fsm.NewState()
	result := s.Apply(5, 2, &commandv1.Command{ClockAtMs: 1_795_403_000_000, Body: &commandv1.Command_CreateSequence{
		CreateSequence: &commandv1.CreateSequence{Spec: &commandv1.SequenceSpec{
			Name: "orders", Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE, Start: 1, Increment: 1, Min: 1, Max: 1 << 40,
			BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 1000,
		}},
	}})
	if err := result.Failure(); err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t testing.TB, h *commandv1.BackupHeader) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := backup.Write(&file, h, state(t)); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func read(file []byte) (*backup.Backup, error) {
	return backup.Read(bytes.NewReader(file), int64(len(file)), fsm.Version)
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	file := written(t, header())
	b, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(b.Header, header()) || b.State.Digest() != state(t).Digest() || b.Bytes != int64(len(file)) {
		t.Errorf("Read() = %v, %d bytes", b.Header, b.Bytes)
	}
}

// oneLine fails unless the error is one of the documented errors of Read, on one line.
func oneLine(t *testing.T, what string, err error) {
	t.Helper()
	known := errors.Is(err, backup.ErrForeign) || errors.Is(err, backup.ErrDamaged) || errors.Is(err, backup.ErrFuture)
	if !known || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestReadRefusesEveryChangedByte(t *testing.T) {
	t.Parallel()
	file := written(t, header())
	for at := range file {
		for _, flip := range []byte{1, 0x80, byte(1 + rand.IntN(255))} {
			changed := bytes.Clone(file)
			changed[at] ^= flip
			_, err := read(changed)
			oneLine(t, "a changed byte", err)
		}
		_, err := read(file[:at])
		oneLine(t, "a truncated file", err)
	}
	_, err := read(append(bytes.Clone(file), 0))
	oneLine(t, "a longer file", err)
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	edited := func(edit func(*commandv1.BackupHeader)) []byte {
		h := header()
		edit(h)
		return written(t, h)
	}
	future := written(t, header())
	future[11]++ // version of the format
	for name, tc := range map[string]struct {
		file []byte
		want error
	}{
		"empty":            {nil, backup.ErrForeign},
		"text":             {[]byte("orders: 17\n"), backup.ErrForeign},
		"a snapshot":       {[]byte("SNOWRAFT\x00\x00\x00\x01"), backup.ErrForeign},
		"only the magic":   {[]byte("SNOWBACK"), backup.ErrDamaged},
		"a future format":  {future, backup.ErrFuture},
		"a future field":   {edited(func(h *commandv1.BackupHeader) { h.ProtoReflect().SetUnknown([]byte{0xf8, 0x06, 0x01}) }), backup.ErrFuture},
		"a future source":  {edited(func(h *commandv1.BackupHeader) { h.Source = 99 }), backup.ErrFuture},
		"no cluster":       {edited(func(h *commandv1.BackupHeader) { h.ClusterId = "" }), backup.ErrDamaged},
		"no index":         {edited(func(h *commandv1.BackupHeader) { h.Index = 0 }), backup.ErrDamaged},
		"no source":        {edited(func(h *commandv1.BackupHeader) { h.Source = 0 }), backup.ErrDamaged},
		"negative windows": {edited(func(h *commandv1.BackupHeader) { h.MaxWindowMs = -1 }), backup.ErrDamaged},
	} {
		_, err := read(tc.file)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		oneLine(t, name, err)
	}
}

// The advice differs from the advice for a data directory of a newer version.
func TestReadNamesTheVersionsOfAFutureState(t *testing.T) {
	t.Parallel()
	file := written(t, header())
	_, err := backup.Read(bytes.NewReader(file), int64(len(file)), 0)
	if want := backup.ErrFuture.Error() + " (fsm_version 1, known: 0)"; err == nil || err.Error() != want {
		t.Errorf("Read() = %v, want %s", err, want)
	}
}

// The error does not contain the temporary name of the file.
func TestCreateNamesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, write := range map[string]func(*os.File) error{
		filepath.Join(dir, "none", "x"): func(*os.File) error { return nil },
		filepath.Join(dir, "x"): func(f *os.File) error {
			_, err := f.ReadAt(make([]byte, 1), -1)
			return err
		},
		filepath.Join(dir, "taken"): func(*os.File) error { return os.Mkdir(filepath.Join(dir, "taken"), 0o700) },
	} {
		err := backup.Create(path, write)
		if at, ok := errors.AsType[*os.PathError](err); !ok || at.Path != path {
			t.Errorf("Create(%s) = %v", path, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// FuzzRead checks that Read returns without a panic, and accepts only the output of Write. With forged, the test corrects the
// sum, so that Read also reads the content that the sum protects.
func FuzzRead(f *testing.F) {
	file := written(f, header())
	f.Add(file, false)
	f.Add(file[:40], false)
	f.Add(file[:len(file)-sha256.Size], true)
	f.Add([]byte("SNOWBACK\x00\x00\x00\x01\xff\xff\xff\xff"), true)
	f.Fuzz(func(t *testing.T, file []byte, forged bool) {
		if forged {
			sum := sha256.Sum256(file)
			file = append(bytes.Clone(file), sum[:]...)
		}
		b, err := read(file)
		if err != nil {
			oneLine(t, "a fuzzed file", err)
			return
		}
		var again bytes.Buffer
		if err := backup.Write(&again, b.Header, b.State); err != nil || !bytes.Equal(again.Bytes(), file) {
			t.Errorf("Read accepted %d bytes that Write writes as %d (%v)", len(file), again.Len(), err)
		}
	})
}

func TestCreateReplacesNoFileAndLeavesNoRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.backup")
	failed := errors.New("no space")
	if err := backup.Create(path, func(*os.File) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("a failed write left %v", left)
	}
	write := func(text string) error {
		return backup.Create(path, func(f *os.File) error {
			_, err := io.WriteString(f, text)
			return err
		})
	}
	if err := write("first"); err != nil {
		t.Fatal(err)
	}
	if err := write("second"); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(path); string(text) != "first" {
		t.Errorf("the file has %q", text)
	}
	meanwhile := filepath.Join(dir, "meanwhile.backup")
	err = backup.Create(meanwhile, func(*os.File) error { return os.WriteFile(meanwhile, []byte("another"), 0o600) })
	if text, _ := os.ReadFile(meanwhile); !errors.Is(err, os.ErrExist) || string(text) != "another" {
		t.Errorf("a file that was created meanwhile has %q: %v", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("the directory has %v", left)
	}
}
