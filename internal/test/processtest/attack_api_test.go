//go:build process

package processtest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Answers that a client does not read do not accumulate.
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

// Silent connections exclude neither members nor clients of another address.
func TestAttackSilence(t *testing.T) {
	const stranger = "127.0.0.66"
	t.Parallel()
	members := newCluster(t, 3)
	redis := members[0].listenRedis()
	b := &besieged{members: members}
	b.start(t)
	made(t, attacks.Silence(attacks.From(t.Context(), stranger), redis, 10_000)) // limit of Redis connections
	for _, m := range members {
		for _, address := range []string{m.api, m.http, m.raft, m.gossip} {
			made(t, attacks.Silence(attacks.From(t.Context(), stranger), address, 200))
		}
	}
	for address, answer := range map[string]string{members[0].http: "HTTP/1.1 ", redis: "+PONG\r\n"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Write([]byte("PING\r\nHost: a\r\n\r\n")); err != nil {
			t.Error(err)
		}
		got := make([]byte, len(answer))
		if n, err := io.ReadFull(conn, got); string(got) != answer {
			t.Errorf("%s: answer %q, %v; want %q", address, got[:n], err, answer)
		}
	}
	led := leader(t, members)
	led.kill() // the followers have no connection to each other yet
	survivors := others(members, led)
	took := within(t, electsLeaderAmongStrangers, "the survivors elect a leader", func() bool {
		_, err := survivors[0].numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1})
		return err == nil
	})
	t.Logf("another leader after %v", took)
	led.start().untilIssues()
}
