//go:build linux

package lab

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/snowraft/snowraft/jepsen/history"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// observeEvery is the interval between requests for a member's status.
	observeEvery = 500 * time.Millisecond
	// observeWithin is the time limit of a status request.
	observeWithin = time.Second
)

// Observe requests the status of each running member about every 500 ms until ctx ends, and records it in the history.
func (l *Lab) Observe(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, m := range l.Members {
		conn, err := l.Connect(m)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer conn.Close() //nolint:errcheck // nothing is in progress
			l.observe(ctx, m, snowraftv1.NewClusterServiceClient(conn))
		})
	}
	return nil
}

func (l *Lab) observe(ctx context.Context, m *Member, cluster snowraftv1.ClusterServiceClient) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !m.Running() {
			continue
		}
		s := l.ask(ctx, m, cluster)
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		l.latest[m.Name] = s
		if s.MemberID != "" {
			l.memberIDs[m.Name] = s.MemberID
		}
		l.mu.Unlock()
		l.cfg.Journal.Add(history.Line{Status: &s})
	}
}

// ask requests a member's status.
func (l *Lab) ask(ctx context.Context, m *Member, cluster snowraftv1.ClusterServiceClient) history.Status {
	ctx, cancel := context.WithTimeout(ctx, observeWithin)
	defer cancel()
	var p peer.Peer
	s := history.Status{Member: m.Name, SkewCallNanos: int64(m.Offset()), Call: history.Now()}
	got, err := cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{}, grpc.Peer(&p))
	// In this order, a pause of the harness between the two only makes the call seem longer.
	s.WallNanos = history.Wall()
	s.Return = history.Now()
	s.SkewReturnNanos = int64(m.Offset())
	s.Start = l.StartOf(p.LocalAddr, p.Addr)
	if s.Start == m.Current() {
		times := m.Scheduled()
		s.RanNanos, s.WaitedNanos = int64(times.Ran), int64(times.Waited)
	}
	if err != nil {
		s.Error = err.Error()
		return s
	}
	s.MemberID, s.LeaderID, s.Term = got.GetMemberId(), got.GetLeaderId(), got.GetTerm()
	s.Commit, s.Applied = got.GetCommitIndex(), got.GetAppliedIndex()
	s.ObservedMillis, s.ClockMillis, s.OffsetMillis = got.GetObservedClockAtMs(), got.GetClockAtMs(), got.GetClockOffsetMs()
	s.Problem, s.Voter = got.GetProblem(), got.GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER
	for _, lane := range got.GetLanes() {
		s.Lanes = append(s.Lanes, history.Lane{
			Layout: lane.GetLayout(), Worker: lane.GetWorker(), Token: lane.GetToken(), From: lane.GetFromTick(), Until: lane.GetUntilTick(),
		})
	}
	return s
}

// Status returns the last status of a member's running start, at most about 2 s old. It returns false if there is none.
func (l *Lab) Status(m *Member) (history.Status, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.latest[m.Name]
	fresh := ok && s.Error == "" && s.Start == m.Current() && history.Now()-s.Return < int64(2*observeEvery+observeWithin)
	return s, fresh
}

// Leader returns the running member that leads according to the members' last statuses, nil if none does.
func (l *Lab) Leader() *Member {
	var leader *Member
	var term uint64
	for _, m := range l.Running() {
		if s, ok := l.Status(m); ok && s.LeaderID == s.MemberID && s.MemberID != "" && s.Term > term {
			leader, term = m, s.Term
		}
	}
	return leader
}

// MemberID returns the last member ID that a member reported in the present life, empty if it reported none.
func (l *Lab) MemberID(m *Member) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memberIDs[m.Name]
}
