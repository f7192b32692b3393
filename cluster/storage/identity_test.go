package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

func mustOpen(t testing.TB, dir string) *Identity {
	t.Helper()
	id, err := OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIdentityLastsAsLongAsItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	first := mustOpen(t, dir)
	if _, err := OpenIdentity(dir); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("opened twice: %v", err)
	}
	cluster := uuid.NewString()
	if ours, err := first.Adopt(cluster); !ours || err != nil {
		t.Fatalf("not adopted: %v", err)
	}
	if ours, err := first.Adopt(uuid.NewString()); ours || err != nil {
		t.Errorf("adopted by a second cluster: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := mustOpen(t, dir)
	defer second.Close()
	if second.Node() != first.Node() || second.Cluster() != cluster || second.Starts() != first.Starts()+1 {
		t.Errorf("was %+v, is %+v", first.data, second.data)
	}
	other := mustOpen(t, t.TempDir())
	defer other.Close()
	if other.Node() == first.Node() {
		t.Error("an empty directory got an old identity")
	}
}

func TestIdentityRemembersItsSecret(t *testing.T) {
	dir := t.TempDir()
	for start, want := range []bool{false, true, true} {
		id := mustOpen(t, dir)
		if id.Secured() != want {
			t.Errorf("start %d: Secured() = %v, want %v", start, id.Secured(), want)
		}
		if start == 0 {
			if err := id.Secure(); err != nil || !id.Secured() {
				t.Errorf("Secure() = %v, Secured() = %v", err, id.Secured())
			}
		}
		if err := id.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, identityFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{`"secured": false`, `"Secured_": true`} {
		if err := os.WriteFile(path, bytes.Replace(raw, []byte(`"secured": true`), []byte(other), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenIdentity(dir); err == nil {
			t.Errorf("an identity with %s was opened", other)
		}
	}
}

func TestIdentityDamageIsDetected(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, identityFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x04
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		id, err := OpenIdentity(dir)
		if err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Fatalf("byte %d: %v", i, err)
			}
			continue
		}
		// Only white space may change.
		if id.data.MemberID == "" || !bytes.Contains(good, []byte(id.data.MemberID)) {
			t.Fatalf("byte %d of %q: read as %+v", i, good, id.data)
		}
		_ = id.Close()
	}
}

func TestIdentityMissingBesideALog(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if _, err := OpenIdentity(dir); !errors.As(err, &corrupt) {
		t.Errorf("a new identity for an old log: %v", err)
	}
}

func TestFoundIsUndoneAfterFailedStart(t *testing.T) {
	id := mustOpen(t, t.TempDir())
	defer id.Close()
	boom := errors.New("boom")
	if first, err := id.Found("a", func() error { return boom }); first || !errors.Is(err, boom) || id.Cluster() != "" {
		t.Errorf("%v, %v, %q", first, err, id.Cluster())
	}
	if first, err := id.Found("b", func() error { return nil }); !first || err != nil {
		t.Errorf("%v, %v", first, err)
	}
	if first, err := id.Found("c", func() error { t.Error("called"); return nil }); first || err != nil {
		t.Errorf("%v, %v", first, err)
	}
}

// The error of an unusable directory has the path once, the problem and an action, and no operation of the system. Nothing is
// changed.
func TestUnusableDirectoryError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "data")} {
		want := "data directory " + dir + ": cannot be used (not a directory); let this user read and write it. A new member may use another directory"
		_, err := OpenIdentity(dir)
		if _, ok := errors.AsType[*os.PathError](err); !ok || err.Error() != want {
			t.Errorf("OpenIdentity(%q) = %v, want %q", dir, err, want)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "content" {
		t.Errorf("the file holds %q, %v", content, err)
	}
}

// A member that ran once as another user keeps its directory: with another one, it would be a new member.
func TestForbiddenDirectoryError(t *testing.T) {
	err := &unusableError{"/data", &os.PathError{Op: "open", Path: "/data/node.json", Err: syscall.EACCES}}
	want := "data directory /data: cannot be used (node.json: permission denied); let this user read and write it and its files"
	if err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// A full disk is a matter of space: permissions do not help, and an existing member must keep its directory.
func TestFullDiskError(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := &unusableError{"/data", &os.PathError{Op: "write", Path: "/data/raft.db", Err: full}}
		want := "data directory /data: cannot be used (raft.db: " + full.Error() + "); free space on its disk, then start the member again"
		if err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The error names the file in the directory: an existing member must keep its directory.
func TestUnusableFileError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lock"), 0o700); err != nil { // cannot be opened for writing
		t.Fatal(err)
	}
	if _, err := OpenIdentity(dir); err == nil || !strings.Contains(err.Error(), "cannot be used (lock: is a directory)") {
		t.Errorf("OpenIdentity(%q) = %v, want the name of the file", dir, err)
	}
}

// Other users of the host lose their access to a data directory; its group keeps it.
func TestRestrict(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if others, err := Restrict(dir); others || err != nil {
		t.Errorf("without a directory: %t, %v", others, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for before, after := range map[os.FileMode]os.FileMode{0o700: 0o700, 0o750: 0o750, 0o755: 0o750, 0o777: 0o770, 0o701: 0o700} {
		if err := os.Chmod(dir, before); err != nil {
			t.Fatal(err)
		}
		others, err := Restrict(dir)
		info, statErr := os.Stat(dir)
		if err != nil || statErr != nil || others != (before != after) || info.Mode().Perm() != after {
			t.Errorf("%o: Restrict() = %t, %v; the mode is %o, want %o", before, others, err, info.Mode().Perm(), after)
		}
	}
}
