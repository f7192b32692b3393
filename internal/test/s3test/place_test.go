package s3test

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

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const cluster = "50d28448-6dfe-4a73-ab47-6105a27ac055"

// at returns a place of the test alone.
func at(t *testing.T) archive.Place {
	t.Helper()
	p, err := archive.At("s3://" + bucket + "/" + t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func name(index uint64) archive.Name {
	return archive.Name{Cluster: cluster, Index: index, Term: 2, TakenAtMillis: 1_795_403_036_444}
}

// write writes a backup of an empty state.
func write(n archive.Name) func(io.Writer) error {
	return func(w io.Writer) error {
		return backup.Write(w, &commandv1.BackupHeader{
			ClusterId: n.Cluster, Index: n.Index, Term: n.Term, TakenAtMs: n.TakenAtMillis,
			MaxWindowMs: 600_000, MaxClockOffsetMs: 500, Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
		}, fsm.NewState())
	}
}

func TestBucketKeepsBackups(t *testing.T) {
	p := at(t)
	if all, err := p.List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Fatalf("List() = %v, %v in an empty place", all, err)
	}
	for _, index := range []uint64{23, 24} {
		if err := p.Put(t.Context(), name(index), write(name(index))); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(s3.files, t.Name(), cluster, "notes.txt")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", cluster} {
		if all, err := p.List(t.Context(), folder); err != nil || len(all) != 2 || all[0].Bytes == 0 {
			t.Errorf("List(%q) = %v, %v, want 2", folder, all, err)
		}
	}
	b, err := archive.Read(t.Context(), p, name(23))
	if err != nil || b.Header.GetIndex() != 23 {
		t.Fatalf("Read() = %v, %v", b, err)
	}
	if h, err := archive.Header(t.Context(), p, name(24)); err != nil || !name(24).Of(h) {
		t.Errorf("Header() = %v, %v", h, err)
	}
	for _, text := range []string{p.String(), p.String() + "/", p.String() + "/" + cluster, p.String() + "/" + name(24).String()} {
		if _, n, err := archive.Find(t.Context(), text); err != nil || n != name(24) {
			t.Errorf("Find(%q) = %v, %v", text, n, err)
		}
	}
	for range 2 {
		if err := p.Remove(t.Context(), name(23)); err != nil {
			t.Error(err)
		}
	}
	if _, err := archive.Read(t.Context(), p, name(23)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read() = %v after Remove", err)
	}
}

// A byte that the server loses or changes is noticed.
func TestDamageInBucketIsNoticed(t *testing.T) {
	p := at(t)
	if err := p.Put(t.Context(), name(23), write(name(23))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s3.files, t.Name(), name(23).String())
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(file)
	changed[len(changed)/2] ^= 1
	for what, content := range map[string][]byte{"changed": changed, "cut": file[:len(file)-1], "empty": nil} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := archive.Read(t.Context(), p, name(23)); !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrForeign) {
			t.Errorf("%s: Read() = %v, %v", what, b, err)
		}
	}
}

// A large backup goes up in parts, without a copy in memory or on disk.
func TestLargeBackupGoesUpInParts(t *testing.T) {
	p := at(t)
	random := rand.NewChaCha8([32]byte{1})
	const size = 40<<20 + 17
	sum := sha256.New()
	if err := p.Put(t.Context(), name(23), func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(random, size))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r, got, err := p.Open(t.Context(), name(23))
	if err != nil {
		t.Fatal(err)
	}
	read := sha256.New()
	if _, err := io.Copy(read, r); err != nil || got != size || !bytes.Equal(read.Sum(nil), sum.Sum(nil)) {
		t.Errorf("%d bytes, want %d with the same hash (%v)", got, size, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestFailedUploadLeavesNothing(t *testing.T) {
	p := at(t)
	halted := errors.New("halted")
	for _, size := range []int{0, 100, 20 << 20} {
		err := p.Put(t.Context(), name(23), func(w io.Writer) error {
			if _, err := w.Write(make([]byte, size)); err != nil {
				return err
			}
			return halted
		})
		if !errors.Is(err, halted) {
			t.Errorf("Put() of %d bytes = %v", size, err)
		}
		if all, err := p.List(t.Context(), ""); err != nil || len(all) != 0 {
			t.Errorf("List() = %v, %v after a failed upload of %d bytes", all, err, size)
		}
	}
}

// The errors name the place, and never the secret.
func TestRefusalsHideTheSecret(t *testing.T) {
	refused := func(what string, p archive.Place) {
		t.Helper()
		_, listed := p.List(t.Context(), "")
		put := p.Put(t.Context(), name(23), write(name(23)))
		_, _, opened := p.Open(t.Context(), name(23))
		for _, err := range []error{listed, put, opened} {
			if err == nil || !strings.Contains(err.Error(), p.String()) || strings.Contains(err.Error(), secretKey) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	missing, err := archive.At("s3://no-such-bucket/x")
	if err != nil {
		t.Fatal(err)
	}
	refused("no bucket", missing)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong"+secretKey)
	refused("another secret", at(t))
	t.Setenv("AWS_ENDPOINT_URL", "http://user:"+secretKey+"@127.0.0.1:1")
	if _, err := archive.At("s3://" + bucket); err == nil || strings.Contains(err.Error(), secretKey) {
		t.Errorf("At() = %v with credentials in the URL of the server", err)
	}
}
