package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// The members of a sealed cluster hold windows and blocks. They issue nothing from them, over no protocol, also after a restart.
func TestSealedClusterIssuesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr, c.ThriftAddr = "127.0.0.1:0", "127.0.0.1:0" })
		l, taker := leader(t, nodes), follower(t, nodes)
		modes := map[string]snowraftv1.SequenceMode{"relaxed": snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, "strict": snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
		for name, mode := range modes {
			taker.createSequence(&snowraftv1.Sequence{Name: name, Mode: mode, Start: new(int64(1))})
			for _, n := range nodes {
				n.next(name, 1)
			}
		}
		for _, n := range nodes {
			n.mustGenerate(1)
		}
		l.untilNewest()
		other := l.server.Member().State().Position()
		other.Nonce[0]++
		if err := l.server.Member().Seal(t.Context(), other.Append(nil), "m9", "index 9 differs"); err != nil {
			t.Fatal(err)
		}
		check := func(n *node) {
			t.Helper()
			if _, err := n.generate(1, 0); !final(err) {
				t.Errorf("%s: GenerateIds() = %v", n.cfg.Name, err)
			}
			for name := range modes {
				if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}); !final(err) {
					t.Errorf("%s: NextNumbers(%s) = %v", n.cfg.Name, name, err)
				}
			}
			for _, name := range []string{"relaxed", "strict"} {
				if got := redisLine(t, n.server.RedisAddr(), "INCR "+name); !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, "snowraft restore") {
					t.Errorf("%s: INCR: %s", n.cfg.Name, got)
				}
			}
			if id, failure := callThrift(t, n.server.ThriftAddr()); !strings.Contains(failure, "snowraft restore") {
				t.Errorf("%s: get_id: %d %s", n.cfg.Name, id, failure)
			}
			if code, body := n.ask(http.MethodPost, "/v1/ids:generate", `{}`); code != http.StatusBadRequest || !strings.Contains(body, rpc.SetBack) || !strings.Contains(body, "snowraft restore") {
				t.Errorf("%s: HTTP: %d %s", n.cfg.Name, code, body)
			}
			if code, body := n.ask(http.MethodGet, "/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, "index 9 differs") {
				t.Errorf("%s: readyz: %d %s", n.cfg.Name, code, body)
			}
			status := n.status()
			if got := status.GetSealed(); got.GetReason() != "index 9 differs" || got.GetWitness() != "m9" || got.GetEvidenceIndex() != other.Index || got.GetSealedAtMs() == 0 {
				t.Errorf("%s: status: %v", n.cfg.Name, got)
			}
			if status.GetReason() != rpc.SetBack {
				t.Errorf("%s: status has the reason %q: %s", n.cfg.Name, status.GetReason(), status.GetProblem())
			}
		}
		for _, n := range nodes {
			until(t, n.cfg.Name+" stops", func() bool {
				return n.server.Member().State().Sealed() != nil && n.server.Member().Clock().Stopped() != nil
			})
			check(n)
		}
		if _, err := taker.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "new"}}); reason(err) != rpc.SetBack {
			t.Errorf("CreateSequence() = %v", err)
		}
		taker.stop()
		taker.start()
		until(t, "the member has its state again", func() bool { return taker.server.Member().State().Sealed() != nil })
		check(taker)
	})
}

// final reports whether an error is that of a sealed cluster: it names the next command, and no time of a repetition.
func final(err error) bool {
	if err == nil {
		return false
	}
	e := rpc.FromError(err)
	return e.Reason == rpc.SetBack && e.RetryAfter == 0 && strings.Contains(e.Message, "snowraft restore")
}

// The positions of a healthy cluster, of clients before and after an election, seal nothing.
func TestOwnPositionSealsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		var claims []position.Position
		recorded := map[[16]byte]bool{{}: true}
		for range 3 {
			l := leader(t, nodes)
			until(t, "the leadership is recorded", func() bool { return !recorded[l.server.Member().State().Position().Nonce] })
			recorded[l.server.Member().State().Position().Nonce] = true
			for _, n := range nodes {
				claims = append(claims, n.server.Member().State().Position())
			}
			if _, err := l.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		l := leader(t, nodes)
		nonces := map[[16]byte]bool{}
		for _, p := range claims {
			nonces[p.Nonce] = true
			err := l.server.Member().Seal(t.Context(), p.Append(nil), "m9", "a claim")
			for errors.Is(err, cluster.ErrNotLeader) { // just replaced
				<-time.After(10 * time.Millisecond)
				l = leader(t, nodes)
				err = l.server.Member().Seal(t.Context(), p.Append(nil), "m9", "a claim")
			}
			if !errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_INVALID_ARGUMENT}) {
				t.Errorf("Seal() for %+v = %v", p, err)
			}
		}
		if len(nonces) < 3 {
			t.Errorf("%d leaderships in %d positions, want at least 3", len(nonces), len(claims))
		}
		l.mustGenerate(1)
	})
}
