//go:build root && linux && amd64

package skew

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// patience bounds the wait for a condition.
const patience = 30 * time.Second

// member is the real program with its own clock.
type member struct {
	t       *testing.T
	clock   *Clock
	ids     snowraftv1.IdServiceClient
	cluster snowraftv1.ClusterServiceClient
}

// startMember builds the program and starts a cluster of one member at the default ports: the tests have their own network.
func startMember(t *testing.T, offset time.Duration) *member {
	t.Helper()
	program := filepath.Join(t.TempDir(), "snowraft")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/snowraft")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", "--name", "m1", "--bootstrap-expect", "1", "--data-dir", filepath.Join(t.TempDir(), "data"))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	clock, err := Start(cmd, offset)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("127.0.0.1:7700", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = clock.Close()
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	return &member{t: t, clock: clock, ids: snowraftv1.NewIdServiceClient(conn), cluster: snowraftv1.NewClusterServiceClient(conn)}
}

// set sets the clock and checks it by the member's status.
func (m *member) set(offset time.Duration) {
	m.t.Helper()
	if err := m.clock.Set(offset); err != nil {
		m.t.Fatal(err)
	}
	m.expectOff(offset)
}

func (m *member) expectOff(offset time.Duration) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	before := time.Now().UnixMilli()
	resp, err := m.cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{}, grpc.WaitForReady(true))
	if err != nil {
		m.t.Fatal(err)
	}
	after := time.Now().UnixMilli()
	if got := resp.GetClockAtMs(); got < before+offset.Milliseconds() || got > after+offset.Milliseconds() {
		m.t.Errorf("clock_at_ms is off by %d to %d ms, want %d", got-after, got-before, offset.Milliseconds())
	}
}

// generate requests an ID and returns the reason of a failure, "" after success.
func (m *member) generate() string {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	_, err := m.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1}, grpc.WaitForReady(true))
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// until waits until requests for IDs fail with reason, or succeed if reason is "".
func (m *member) until(reason string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got := m.generate()
		if got == reason {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			m.t.Fatalf("reason after %v is %q, want %q", patience, got, reason)
		}
	}
}

func TestMemberHasTheClock(t *testing.T) {
	const ahead = 10 * time.Minute
	m := startMember(t, ahead)
	m.expectOff(ahead)
	m.until("")
	// The next call is rejected, because the member reads its clock for each ID.
	m.set(ahead - 5*time.Second)
	if got := m.generate(); got != "CLOCK_BEHIND" {
		t.Errorf("reason with the clock set back by 5 s is %q, want CLOCK_BEHIND", got)
	}
	m.set(ahead)
	m.until("")
	m.set(ahead + 5*time.Second)
	if got := m.generate(); got != "CLOCK_SKEW" {
		t.Errorf("reason with the clock set forward by 5 s is %q, want CLOCK_SKEW", got)
	}
	m.set(-5 * time.Second)
	if got := m.generate(); got != "CLOCK_BEHIND" {
		t.Errorf("reason with the clock 5 s behind the machine's, set back by 10 min, is %q, want CLOCK_BEHIND", got)
	}
	m.set(ahead)
	m.until("")
}
