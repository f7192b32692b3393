//go:build process

package processtest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// A killed member issues IDs again within one second after its start. This holds for the leader and the followers, after a short
// downtime and after a downtime longer than the other members wait for a message.
func TestKilledMemberIssuesWithinASecond(t *testing.T) {
	// Not parallel: other tests would take the processors.
	members := startCluster(t, 3)
	var all []time.Duration
	s := watchStalls(t)
	for i := range depth.Of(6, 12) { // each kind of member after each downtime
		// A follower that has not yet met this start of the leader notices its end only by Raft's timeouts.
		pass(t, time.Second)
		lead := leader(t, members)
		victim := lead
		if i%2 == 1 {
			victim = others(members, lead)[i/2%2]
		}
		victim.kill()
		pass(t, []time.Duration{0, 500 * time.Millisecond, 3 * time.Second}[i%3])
		victim.start()
		took := victim.untilID()
		stalled := s.between(victim.began, victim.began.Add(took))
		t.Logf("%s (leader: %v) issued an ID after %v, with %v of stalls", victim.name, victim == lead, took, stalled)
		if all = append(all, took); took > time.Duration(issuesAfterStart)+stalled {
			t.Errorf("%s issued %v after its start, want at most %v, while this machine stalled for %v",
				victim.name, took, time.Duration(issuesAfterStart), stalled)
		}
		for _, m := range members { // a quorum must not depend on the next victim
			m.untilIssues()
		}
	}
	slices.Sort(all)
	t.Logf("first IDs of %d starts: median %v, longest %v", len(all), all[len(all)/2], all[len(all)-1])
}

// untilID returns the time from the start of the process to its first ID. It opens a new connection for each attempt, because a
// gRPC connection waits longer between attempts.
func (m *member) untilID() time.Duration {
	m.t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	try := func() bool {
		ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.http+"/id", http.NoBody)
		if err != nil {
			m.t.Fatal(err)
		}
		resp, err := web.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK
	}
	until(m.t, m.name+" issues IDs", try)
	return time.Since(m.began)
}
