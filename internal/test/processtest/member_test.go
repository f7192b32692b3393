//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// callTimeout bounds a call that hangs. The product answers sooner, with an error at the latest.
const callTimeout = 20 * time.Second

// member is a cluster member: a data directory and ports, which do not change
// over restarts, and the current process, if any.
type member struct {
	*process
	t                       *testing.T
	name, dir               string
	api, http, raft, gossip string
	program                 string                 // program of later starts
	flags                   []string               // flags in addition to name, directory and ports
	secret                  atomic.Pointer[string] // path of the secret file; nil for an open member
	launch                  func(*exec.Cmd) error

	conn    *grpc.ClientConn
	ids     snowraftv1.IdServiceClient
	workers snowraftv1.WorkerServiceClient
	cluster snowraftv1.ClusterServiceClient
	numbers snowraftv1.SequenceServiceClient
}

// newMember describes a member and does not start it.
func newMember(t *testing.T, name string, flags ...string) *member {
	t.Helper()
	m := &member{
		t: t, name: name, dir: filepath.Join(t.TempDir(), name), program: program, flags: flags,
		launch: (*exec.Cmd).Start, api: freeport.Address(t), http: freeport.Address(t), raft: freeport.Address(t), gossip: freeport.Address(t),
	}
	if i := slices.Index(flags, "--secret-file"); i >= 0 {
		m.secret.Store(&flags[i+1])
	}
	// Connections to a restarted member resume immediately, not after gRPC's default of minutes.
	reconnect := backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 100 * time.Millisecond}
	var err error
	m.conn, err = grpc.NewClient("passthrough:///"+m.api,
		grpc.WithTransportCredentials(adminCredentials{insecure.NewCredentials(), m}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	m.ids = snowraftv1.NewIdServiceClient(m.conn)
	m.workers = snowraftv1.NewWorkerServiceClient(m.conn)
	m.cluster = snowraftv1.NewClusterServiceClient(m.conn)
	m.numbers = snowraftv1.NewSequenceServiceClient(m.conn)
	t.Cleanup(func() { _ = m.conn.Close() })
	return m
}

// newCluster describes members that start a cluster together.
func newCluster(t *testing.T, size int, flags ...string) []*member {
	t.Helper()
	var members []*member
	for i := range size {
		members = append(members, newMember(t, fmt.Sprintf("m%d", i+1), flags...))
	}
	for _, m := range members {
		m.flags = append(m.flags, "--bootstrap-expect", strconv.Itoa(size))
		if size > 1 {
			m.flags = append(m.flags, "--join", seeds(others(members, m)...))
		}
	}
	return members
}

// startCluster starts members that start a cluster together, and waits until all issue IDs.
func startCluster(t *testing.T, size int, flags ...string) []*member {
	t.Helper()
	members := newCluster(t, size, flags...)
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	return members
}

// newcomer describes a new member that joins members.
func newcomer(t *testing.T, name string, members []*member, flags ...string) *member {
	t.Helper()
	return newMember(t, name, append(flags, "--join", seeds(members...))...)
}

// seeds returns the value of --join.
func seeds(members ...*member) string {
	var addresses []string
	for _, m := range members {
		addresses = append(addresses, m.gossip)
	}
	return strings.Join(addresses, ",")
}

// others returns the members except one.
func others(members []*member, but *member) []*member {
	var rest []*member
	for _, m := range members {
		if m != but {
			rest = append(rest, m)
		}
	}
	return rest
}

// start starts the process, with extra flags for this time only.
func (m *member) start(extra ...string) *member {
	m.t.Helper()
	return m.startIn(nil, extra...)
}

// startIn starts the process with more variables in its environment.
func (m *member) startIn(env []string, extra ...string) *member {
	m.t.Helper()
	args := []string{"serve", "--name", m.name, "--data-dir", m.dir,
		"--api-addr", m.api, "--http-addr", m.http, "--raft-addr", m.raft, "--gossip-addr", m.gossip}
	args = append(args, "--promote-after", "3s") // before the flags of the test
	args = append(append(args, m.flags...), extra...)
	p := startBy(m.t, m.launch, m.program, env, args...)
	m.process = p
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("%s, started at %s:\n%s", m.name, p.began.Format(time.TimeOnly), p.stderr.tail(40))
		}
	})
	return m
}

// stop stops the process gracefully.
func (m *member) stop() {
	m.t.Helper()
	m.signal(syscall.SIGTERM)
	if code := m.exit(); code != 0 {
		m.t.Errorf("%s: exit code %d after SIGTERM", m.name, code)
	}
}

// generate requests IDs once.
func (m *member) generate(layout string, count uint32) (*snowraftv1.GenerateIdsResponse, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
	defer cancel()
	return m.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout, Count: count})
}

// untilIssues waits until the member issues IDs. These IDs go into no ledger.
func (m *member) untilIssues() {
	m.t.Helper()
	until(m.t, m.name+" issues IDs", func() bool {
		_, err := m.generate("", 1)
		if err != nil && !m.running() {
			m.t.Fatalf("%s exited:\n%s", m.name, m.stderr.tail(20))
		}
		return err == nil
	})
}

// untilWindow waits until a member's window reaches ahead, and returns the window's
// end. The first windows after a start are short, so that a process that
// crashes in a loop discards little.
func (m *member) untilWindow(layout string, ahead time.Duration) (end time.Time) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("the window of %s reaches %v ahead", m.name, ahead), func() bool {
		end = m.serveUntil(layout)
		return time.Until(end) > ahead
	})
	return end
}

// serveUntil returns the time until which a member reports that it can issue without quorum; the
// zero time if it cannot.
func (m *member) serveUntil(layout string) (last time.Time) {
	for _, l := range m.status().GetLanes() {
		if end := time.UnixMilli(l.GetServeUntilAtMs()); l.GetLayout() == layout && l.GetServeUntilAtMs() > 0 && end.After(last) {
			last = end
		}
	}
	return last
}

// status returns the status of the member; nil without an answer.
func (m *member) status() *snowraftv1.GetStatusResponse {
	ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
	defer cancel()
	resp, err := m.cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return nil
	}
	return resp
}

// list returns the membership as the member sees it.
func (m *member) list() []*snowraftv1.Member {
	ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
	defer cancel()
	resp, err := m.cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return nil
	}
	return resp.GetMembers()
}

// voters returns the numbers of voters and nonvoters as the member sees them.
func (m *member) voters() (voters, nonvoters int) {
	for _, s := range m.list() {
		if s.GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
			voters++
		} else {
			nonvoters++
		}
	}
	return voters, nonvoters
}

func (m *member) untilVoters(want int) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("%s sees %d voters and no nonvoter", m.name, want), func() bool {
		voters, nonvoters := m.voters()
		return voters == want && nonvoters == 0
	})
}

// leader waits until all members agree on the leader.
func leader(t *testing.T, members []*member) *member {
	t.Helper()
	var found *member
	until(t, "the members agree on a leader", func() bool {
		found = nil
		var id string
		for i, m := range members {
			s := m.status()
			if s.GetLeaderId() == "" || (i > 0 && s.GetLeaderId() != id) {
				return false
			}
			if id = s.GetLeaderId(); s.GetMemberId() == id {
				found = m
			}
		}
		return found != nil
	})
	return found
}

// untilApplied waits until all members know all changes so far.
func untilApplied(t *testing.T, members []*member) {
	t.Helper()
	committed := leader(t, members).status().GetCommitIndex()
	for _, m := range members {
		until(t, m.name+" applies all changes", func() bool { return m.status().GetAppliedIndex() >= committed })
	}
}
