package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	inspecting "github.com/snowraft/snowraft/cmd/snowraft/internal/backup"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/restore"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/trust"
)

const oldMember = "8272a339-819c-46e5-b94c-bda5f65fffda"

// writeBackup writes a backup of a single-member cluster with a Raft address. The cluster has a token.
func writeBackup(t *testing.T, raftAddress string) (path string) {
	t.Helper()
	state := fsm.NewState()
	for i, c := range []*commandv1.Command{
		{Body: &commandv1.Command_CreateToken{CreateToken: &commandv1.CreateToken{Name: "billing", Hash: make([]byte, 32), Scopes: []string{"ids:issue:default"}}}},
		{Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}},
	} {
		c.ClockAtMs = 1_795_403_000_000
		if err := state.Apply(uint64(6+i), 2, c).Failure(); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "x.backup")
	err := backup.Create(path, func(f *os.File) error {
		return backup.Write(f, &commandv1.BackupHeader{
			ClusterId: "50d28448-6dfe-4a73-ab47-6105a27ac055", Index: 7, Term: 2, TakenAtMs: 1_795_403_036_444,
			MaxWindowMs: 600_000, MaxClockOffsetMs: 500, Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
			Members: []*commandv1.BackupMember{{Id: oldMember, Name: "a", RaftAddress: raftAddress, Voter: true}},
		}, state)
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// unsynchronised is an argument of commandAt for a host whose clock NTP does not keep.
const unsynchronised = "(unsynchronised)"

// restoredAt is the clock of the host in these tests, one hour after the clock of the backup.
var restoredAt = time.UnixMilli(1_795_403_000_000).Add(time.Hour)

// commandAt runs a command line at restoredAt.
func commandAt(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	w := clitest.New()
	a := w.App("test")
	a.Now = func() time.Time { return restoredAt }
	off := slices.Index(args, unsynchronised)
	if off >= 0 {
		args = slices.Delete(slices.Clone(args), off, off+1)
	}
	a.Unsynchronised = func() bool { return off >= 0 }
	code = clitest.Commands{restore.New}.In(t.Context(), a, args...)
	return w.Out.String(), w.Err.String(), code
}

func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	file, full := writeBackup(t, clitest.DeadAddress), t.TempDir()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	bad := filepath.Join(full, "bad.backup")
	if err := os.WriteFile(bad, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	const gone = "--old-cluster-is-gone"
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{file, "--data-dir", "DIR", "--old-ended", "now"}, cli.ExitUsage, "missing --old-cluster-is-gone; stop every member of cluster 50d28448-6dfe-4a73-ab47-6105a27ac055 permanently"},
		{[]string{file, "--data-dir", "DIR", "--old-ended", "yesterday", gone}, cli.ExitUsage, "expected a time as RFC 3339"},
		{[]string{file, "--data-dir", "DIR", "--old-ended", "2026-11-23T02:00:00Z", gone}, cli.ExitUsage, "must not be before 2026-11-23T03:03:20.000Z"},
		{[]string{file, "--data-dir", "DIR", "--old-ended", "2126-11-23T02:00:00Z", gone}, cli.ExitUsage, "must not be after"},
		{[]string{file, "--data-dir", "DIR", "--old-ended", "now", gone, unsynchronised}, cli.ExitUsage, "clock is not synchronized; compare it with a correct clock"},
		{[]string{file, "--data-dir", "DIR", "--old-ended", restoredAt.Add(2 * time.Minute).Format(time.RFC3339), gone}, cli.ExitUsage, "ahead of this host's clock, which may be behind; compare it"},
		{[]string{file, "--data-dir", full, "--old-ended", "now", gone}, cli.ExitUsage, "must be empty"},
		{[]string{file, "--data-dir", filepath.Join(bad, "x"), "--old-ended", "now", gone}, cli.ExitUsage, "cannot be written (not a directory); choose another directory"},
		{[]string{bad, "--data-dir", "DIR", "--old-ended", "now", gone}, cli.ExitFailed, "damaged backup"},
		{[]string{"restore_test.go", "--data-dir", "DIR", "--old-ended", "now", gone}, cli.ExitFailed, "not a Snowraft backup"},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		args := append([]string{"restore"}, c.args...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		stdout, stderr, code := commandAt(t, args...)
		if code != c.code || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q made the directory", args)
		}
	}
}

func TestRestoreSaysWhenIDsAreIssued(t *testing.T) {
	t.Parallel()
	file, dir := writeBackup(t, clitest.DeadAddress), filepath.Join(t.TempDir(), "new")
	ended := restoredAt.Add(time.Minute)
	var doc restore.Document
	out, stderr, code := commandAt(t, "restore", file, "--data-dir", dir, "--old-ended", ended.UTC().Format("2006-01-02T15:04:05.000Z"), "--old-cluster-is-gone", "--clock-checked", unsynchronised, "--old-max-window", "20m", "--old-max-clock-offset", "5s", "-o", "json")
	if code != cli.ExitDone {
		t.Fatal(stderr)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if want := ended.Add(20*time.Minute + 2*5*time.Second).UnixMilli(); doc.FloorAtMS != want || doc.IssuesAtMS < want || !doc.TokensDisabled || doc.Index < 1<<32 {
		t.Errorf("restore = %+v, want a floor at %d", doc, want)
	}
	text := clitest.Commands{inspecting.New}.Succeeds(t, "backup", "inspect", dir)
	if !strings.Contains(text, doc.ClusterID) || !strings.Contains(text, "directory") {
		t.Errorf("inspect: %s", text)
	}
}

func TestRestoreOfSeveralBackups(t *testing.T) {
	t.Parallel()
	files, dir := []string{writeBackup(t, clitest.DeadAddress), writeBackup(t, clitest.DeadAddress)}, filepath.Join(t.TempDir(), "new")
	flags := []string{"--old-ended", "now", "--old-cluster-is-gone", "--data-dir"}
	if _, stderr, code := commandAt(t, slices.Concat([]string{"restore"}, files, flags, []string{dir})...); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	second := filepath.Join(t.TempDir(), "second")
	_, stderr, code := commandAt(t, slices.Concat([]string{"restore", files[0], dir}, flags, []string{second})...) // the new cluster's directory
	if code != cli.ExitFailed || !strings.Contains(stderr, "backups of two clusters") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Whole seconds mean their end: the clock in a backup has milliseconds.
func TestSecondsOfOldEndedMeanTheirEnd(t *testing.T) {
	t.Parallel()
	file := writeBackup(t, clitest.DeadAddress)
	floor := func(ended string) int64 {
		var doc restore.Document
		out, stderr, code := commandAt(t, "restore", file, "--data-dir", filepath.Join(t.TempDir(), "new"), "--old-ended", ended, "--old-cluster-is-gone", "-o", "json")
		if code != cli.ExitDone {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.FloorAtMS
	}
	end := restoredAt.UTC().Truncate(time.Second).Add(999 * time.Millisecond)
	want := floor(end.Format(time.RFC3339Nano))
	for _, text := range []string{end.Format(time.RFC3339), end.In(time.FixedZone("", 3600)).Format(time.RFC3339)} {
		if got := floor(text); got != want {
			t.Errorf("--old-ended %s: floor at %d, want %d", text, got, want)
		}
	}
	if got := floor(end.Truncate(time.Second).Format("2006-01-02T15:04:05.0Z")); got != want-999 {
		t.Errorf("with a fraction: floor at %d, want %d", got, want-999)
	}
}

// Another program answers at the address of the old member.
func TestRestoreWarnsOfOtherProgramsAtOldAddresses(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 mail.example.net ESMTP ready and waiting\r\n"))
			_ = conn.Close()
		}
	}()
	_, stderr, code := commandAt(t, "restore", writeBackup(t, l.Addr().String()), "--data-dir", filepath.Join(t.TempDir(), "new"), "--old-ended", "now", "--old-cluster-is-gone")
	if code != cli.ExitDone || !strings.Contains(stderr, "another program answers at the address of a at "+l.Addr().String()) {
		t.Errorf("restore: exit code %d: %s", code, stderr)
	}
}

func TestRestoreKeepsTokensOnRequest(t *testing.T) {
	t.Parallel()
	for flag, disabled := range map[string]bool{"--keep-tokens=false": true, "--keep-tokens": false} {
		dir := filepath.Join(t.TempDir(), "new")
		stdout, stderr, code := commandAt(t, "restore", writeBackup(t, clitest.DeadAddress), "--data-dir", dir, "--old-ended", "now", "--old-cluster-is-gone", flag)
		if code != cli.ExitDone || strings.Contains(stdout, "disabled") != disabled {
			t.Fatalf("restore %s: exit code %d: %s%s", flag, code, stdout, stderr)
		}
		b, err := backup.OpenDirectory(dir, restoredAt.UnixMilli())
		if err != nil {
			t.Fatal(err)
		}
		if token, ok := b.State.TokenNamed("billing"); !ok || token.Disabled != disabled {
			t.Errorf("restore %s: the token is %+v", flag, token)
		}
	}
}

// memberAt runs the Raft port of a secured member, and returns its address.
func memberAt(t *testing.T, id string) string {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", cli.Localhost+":0", keys.MemberServer(id))
	if err != nil {
		t.Fatal(err)
	}
	var handshakes sync.WaitGroup
	t.Cleanup(handshakes.Wait)
	t.Cleanup(func() { _ = l.Close() })
	handshakes.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handshakes.Go(func() {
				_ = conn.(*tls.Conn).HandshakeContext(t.Context())
				_ = conn.Close()
			})
		}
	})
	return l.Addr().String()
}

func TestRestoreRefusesALivingCluster(t *testing.T) {
	t.Parallel()
	at, dir := memberAt(t, oldMember), filepath.Join(t.TempDir(), "new")
	_, stderr, code := commandAt(t, "restore", writeBackup(t, at), "--data-dir", dir, "--old-ended", "now", "--old-cluster-is-gone")
	if code != cli.ExitFailed || !strings.Contains(stderr, "still runs: a at "+at) {
		t.Errorf("restore: exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("restore made the directory")
	}
}

// The other member may be in a cluster that was restored from the same backup.
func TestRestoreWarnsOfOtherMembersAtOldAddresses(t *testing.T) {
	t.Parallel()
	at := memberAt(t, "0c66af2f-ae7e-4522-b252-9891327eb656")
	_, stderr, code := commandAt(t, "restore", writeBackup(t, at), "--data-dir", filepath.Join(t.TempDir(), "new"), "--old-ended", "now", "--old-cluster-is-gone")
	if code != cli.ExitDone || !strings.Contains(stderr, "another member answers at the address of a at "+at) {
		t.Errorf("restore: exit code %d: %s", code, stderr)
	}
}
