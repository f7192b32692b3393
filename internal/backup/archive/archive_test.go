package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
	"github.com/snowraft/snowraft/internal/test/seed"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	cluster = "50d28448-6dfe-4a73-ab47-6105a27ac055"
	another = "0c66af2f-ae7e-4522-b252-9891327eb656"
)

// header returns the header of a backup with a name.
func header(n archive.Name) *commandv1.BackupHeader {
	return &commandv1.BackupHeader{
		ClusterId: n.Cluster, Index: n.Index, Term: n.Term, TakenAtMs: n.TakenAtMillis,
		MaxWindowMs: 600_000, MaxClockOffsetMs: 500, Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
	}
}

// put writes a backup of an empty state.
func put(t *testing.T, p archive.Place, n archive.Name) {
	t.Helper()
	if err := p.Put(t.Context(), n, func(w io.Writer) error { return backup.Write(w, header(n), fsm.NewState()) }); err != nil {
		t.Fatal(err)
	}
}

func at(t *testing.T, text string) archive.Place {
	t.Helper()
	p, err := archive.At(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNamesParse(t *testing.T) {
	t.Parallel()
	seed.Check(t, func(t *rapid.T) {
		n := archive.Name{
			Cluster: cluster, Index: rapid.Uint64Min(1).Draw(t, "index"), Term: rapid.Uint64Min(1).Draw(t, "term"),
			TakenAtMillis: rapid.Int64Range(0, 253_402_300_799_999).Draw(t, "ms"),
		}
		if got, ok := archive.ParseName(n.String()); !ok || got != n {
			t.Fatalf("ParseName(%q) = %+v, %t, want %+v", n, got, ok, n)
		}
	})
	for _, text := range []string{
		"", cluster, cluster + "/", cluster + "/x.backup", strings.ToUpper(cluster) + "/00000000000000000023-2-20261130T224219.123Z.backup",
		cluster + "/00000000000000000000-2-20261130T224219.123Z.backup", cluster + "/00000000000000000023-0-20261130T224219.123Z.backup",
		cluster + "/00000000000000000023-02-20261130T224219.123Z.backup", cluster + "/99999999999999999999-2-20261130T224219.123Z.backup",
		cluster + "/00000000000000000023-2-20261331T224219.123Z.backup", cluster + "/00000000000000000023-2-20261130T224219.123Z.backup.tmp",
		"../" + cluster + "/00000000000000000023-2-20261130T224219.123Z.backup", cluster + "/../00000000000000000023-2-20261130T224219.123Z.backup",
	} {
		if n, ok := archive.ParseName(text); ok {
			t.Errorf("ParseName(%q) = %+v", text, n)
		}
	}
}

// The latest state is that of the greatest term, whatever its index and time.
func TestNamesCompareByState(t *testing.T) {
	t.Parallel()
	want := []archive.Name{
		{Cluster: cluster, Term: 1, Index: 9, TakenAtMillis: 9}, {Cluster: cluster, Term: 2, Index: 3, TakenAtMillis: 7},
		{Cluster: cluster, Term: 2, Index: 3, TakenAtMillis: 8}, {Cluster: cluster, Term: 2, Index: 4, TakenAtMillis: 1},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, archive.Name.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestDirectoryKeepsBackups(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "backups")
	p := at(t, dir)
	if all, err := p.List(t.Context(), cluster); err != nil || len(all) != 0 {
		t.Errorf("List() of no directory = %v, %v", all, err)
	}
	n := archive.Name{Cluster: cluster, Index: 23, Term: 2, TakenAtMillis: 1_795_403_036_444}
	put(t, p, n)
	path := filepath.Join(dir, cluster, "00000000000000000023-2-20261123T030356.444Z.backup")
	file, err := os.Stat(path)
	if err != nil || file.Mode().Perm() != 0o600 {
		t.Fatalf("%v: %v", file, err)
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("%v: %v", folder, err)
	}
	b, err := archive.Read(t.Context(), p, n)
	if err != nil || b.Header.GetIndex() != 23 || b.Bytes != file.Size() {
		t.Errorf("Read() = %v, %v", b, err)
	}
	// Other files, folders and links are not backups.
	for _, other := range []string{"x", "." + filepath.Base(path) + ".123"} {
		if err := os.WriteFile(filepath.Join(dir, cluster, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(path, filepath.Join(dir, cluster, "00000000000000000024-2-20261123T030356.444Z.backup")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, cluster, "00000000000000000025-2-20261123T030356.444Z.backup"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := p.List(t.Context(), ""); err != nil || !slices.Equal(all, []archive.Entry{{Name: n, Bytes: file.Size()}}) {
		t.Errorf("List() = %v, %v", all, err)
	}
	for range 2 {
		if err := p.Remove(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	if _, err := archive.Read(t.Context(), p, n); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read() = %v after Remove", err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	failed := errors.New("halted")
	n := archive.Name{Cluster: cluster, Index: 1, Term: 1}
	err := at(t, dir).Put(t.Context(), n, func(w io.Writer) error {
		_, _ = w.Write([]byte("SNOWBACK"))
		return failed
	})
	if left, _ := os.ReadDir(filepath.Join(dir, cluster)); !errors.Is(err, failed) || len(left) != 0 {
		t.Errorf("Put() = %v, left %v", err, left)
	}
}

// A valid backup under the name of another one is refused.
func TestReadComparesNameWithContent(t *testing.T) {
	t.Parallel()
	p := at(t, t.TempDir())
	n := archive.Name{Cluster: cluster, Index: 23, Term: 2, TakenAtMillis: 1}
	for _, written := range []archive.Name{
		{Cluster: another, Index: 23, Term: 2, TakenAtMillis: 1}, {Cluster: cluster, Index: 24, Term: 2, TakenAtMillis: 1},
		{Cluster: cluster, Index: 23, Term: 3, TakenAtMillis: 1}, {Cluster: cluster, Index: 23, Term: 2, TakenAtMillis: 2},
	} {
		if err := p.Put(t.Context(), n, func(w io.Writer) error { return backup.Write(w, header(written), fsm.NewState()) }); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Read(t.Context(), p, n); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("Read() = %v of the content of %v", err, written)
		}
		if err := p.Remove(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadRefusesChangedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, n := at(t, dir), archive.Name{Cluster: cluster, Index: 23, Term: 2, TakenAtMillis: 1}
	put(t, p, n)
	path := filepath.Join(dir, n.String())
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := archive.Read(t.Context(), p, n); err == nil || b != nil {
			t.Fatalf("Read() accepted %d of %d bytes", len(content), len(file))
		}
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1
		check(changed)
		check(file[:i])
	}
	check(append(bytes.Clone(file), 0))
}

func TestFindTakesTheLatestState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := archive.Name{Cluster: cluster, Index: 23, Term: 2, TakenAtMillis: 3}
	latest := archive.Name{Cluster: cluster, Index: 24, Term: 2, TakenAtMillis: 2}
	find := func(text string) (archive.Name, error) {
		_, n, err := archive.Find(context.Background(), text)
		return n, err
	}
	if _, err := find(dir); !errors.Is(err, archive.ErrNone) {
		t.Errorf("Find() = %v in an empty directory", err)
	}
	put(t, at(t, dir), old)
	put(t, at(t, dir), latest)
	for text, want := range map[string]archive.Name{
		dir: latest, dir + "/": latest, filepath.Join(dir, cluster): latest, filepath.Join(dir, cluster) + "/": latest, filepath.Join(dir, old.String()): old,
	} {
		if got, err := find(text); err != nil || got != want {
			t.Errorf("Find(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	put(t, at(t, dir), archive.Name{Cluster: another, Index: 99, Term: 9, TakenAtMillis: 9})
	if _, err := find(dir); err == nil || !strings.Contains(err.Error(), another+", "+cluster) {
		t.Errorf("Find() = %v with backups of two clusters", err)
	}
	if got, err := find(filepath.Join(dir, cluster)); err != nil || got != latest {
		t.Errorf("Find() = %v, %v", got, err)
	}
}

// The refusal does not repeat the credentials.
func TestURLsWithSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"s3://AKIA:hidden@bucket/ids", "s3://bucket/ids?secret=hidden", "s3://bucket/ids#hidden", "https://hidden.example.net/bucket", "s3:///ids",
		"s3://bucket:9000/hidden", "gs://hidden/ids",
	} {
		if p, err := archive.At(text); !errors.Is(err, archive.ErrPlace) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("At(%q) = %v, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{"s3://bucket": "s3://bucket", "s3://bucket/": "s3://bucket", "s3://bucket/a/b/": "s3://bucket/a/b"} {
		if p := at(t, text); p.String() != want {
			t.Errorf("At(%q) = %v, want %s", text, p, want)
		}
	}
}
