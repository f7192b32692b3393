//go:build process

package processtest

import (
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
)

// Answers that a client does not read do not pile up.
func TestAttackUnreadAnswers(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	made(t, attacks.UnreadAnswers(t.Context(), b.members[0].api, 400))
	b.staysWell(t, 8*time.Second)
}

func TestAttackHugeHeaders(t *testing.T) {
	t.Parallel()
	b := besiege(t, 1)
	taken, err := attacks.HugeHeaders(t.Context(), b.members[0].api, 60, 15<<20)
	made(t, err)
	t.Logf("the member took %d MiB", taken>>20)
	b.well(t)
}

// Connections that say nothing keep neither members nor clients of another address away.
func TestAttackSilence(t *testing.T) {
	const stranger = "127.0.0.66"
	t.Parallel()
	members := newCluster(t, 3)
	redis := members[0].listenRedis()
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	made(t, attacks.Silence(attacks.From(t.Context(), stranger), redis, 10_000)) // as many as there are places
	for _, m := range members {
		for _, address := range []string{m.api, m.http, m.raft, m.gossip} {
			made(t, attacks.Silence(attacks.From(t.Context(), stranger), address, 200))
		}
	}
	other := members[1]
	other.kill()
	began := time.Now()
	other.start().untilIssues()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("a member issues %v after its start", took)
	}
	members[0].untilIssues()
	for _, address := range []string{members[0].http, redis} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Write([]byte("PING\r\nHost: a\r\n\r\n")); err != nil {
			t.Error(err)
		}
		if n, err := conn.Read(make([]byte, 64)); n == 0 {
			t.Errorf("%s: no answer: %v", address, err)
		}
	}
}
