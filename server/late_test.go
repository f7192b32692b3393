package server_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const lateMillis = 45 * 86_400_000

// lateInvoices returns a sequence that is on July 1 at the noon when a bubble begins, which is July 1 in UTC.
func lateInvoices(name string, mode snowraftv1.SequenceMode) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: name, Mode: mode, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: "UTC", LateMs: lateMillis,
		Format: "{date:yyyyMMdd}-{seq:03}",
	}
}

// enterNextDay moves a sequence to a time zone in which July 2 has begun.
func (n *node) enterNextDay(name string) {
	n.t.Helper()
	if _, err := n.sequences.UpdateSequence(n.t.Context(), &snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, TimeZone: "Pacific/Kiritimati"}}); err != nil {
		n.t.Fatal(err)
	}
}

func TestLateNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		untilObserved(t, nodes) // no period closes before
		for _, mode := range []snowraftv1.SequenceMode{snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED} {
			name := strings.ToLower(mode.String())
			nodes[0].createSequence(lateInvoices(name, mode))
			ask := func(n *node, period string, change func(*snowraftv1.NextNumbersRequest)) (*snowraftv1.NextNumbersResponse, error) {
				req := &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1, Period: period}
				if change != nil {
					change(req)
				}
				return n.sequences.NextNumbers(t.Context(), req)
			}
			last := nodes[1].next(name, 3)[2]
			// The present period too: the leader's block in memory comes before.
			now, err := ask(nodes[2], "2026-07-01", nil)
			if err != nil || now.GetFirst() <= last || now.GetPeriod() != "2026-07-01" {
				t.Fatalf("%s: numbers of the present period = %v, %v after %d", name, now, err, last)
			}
			if next := nodes[0].next(name, 1)[0]; mode == snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT && next <= now.GetFirst() {
				t.Errorf("%s: %d after %v", name, next, now)
			}
			nodes[0].enterNextDay(name)
			if first := nodes[1].next(name, 1)[0]; first != 1 {
				t.Errorf("%s: July 2 begins with %d", name, first)
			}
			seen := map[int64]bool{}
			for _, n := range nodes {
				for _, period := range []string{"2026-07-01"} {
					late, err := ask(n, period, nil)
					if err != nil || late.GetFirst() <= now.GetFirst() || seen[late.GetFirst()] || late.GetPeriod() != "2026-07-01" ||
						!strings.HasPrefix(late.GetTexts()[0], "20260701-") {
						t.Errorf("%s: a late number = %v, %v", name, late, err)
					}
					seen[late.GetFirst()] = true
				}
			}
			named := func(r *snowraftv1.NextNumbersRequest) { r.RequestId = "r" }
			once, err := ask(nodes[0], "2026-07-01", named)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ask(nodes[2], "2026-07-01", named); err != nil || !proto.Equal(again, once) {
				t.Errorf("%s: repeated: %v, %v; at first: %v", name, again, err, once)
			}
			stated := func(r *snowraftv1.NextNumbersRequest) { r.From = new(int64(50)) }
			for want, got := range map[string]error{
				rpc.PeriodUnknown + ", unknown":   failureOf(ask(nodes[1], "2026-06-30", nil)),
				rpc.InvalidArgument + ", known":   failureOf(ask(nodes[1], "2026-07-01", stated)),
				rpc.InvalidArgument + ", future":  failureOf(ask(nodes[1], "2026-07-05", nil)),
				rpc.InvalidArgument + ", a month": failureOf(ask(nodes[1], "2026-07", nil)),
				rpc.InvalidArgument + ", none":    failureOf(ask(nodes[1], "", stated)),
				rpc.PeriodClosed + ", closed":     failureOf(ask(nodes[1], "2026-05-01", stated)),
			} {
				if !strings.HasPrefix(want, reason(got)+",") {
					t.Errorf("%s: %v, want %s", name, got, want)
				}
			}
			if june, err := ask(nodes[1], "2026-06-30", stated); err != nil || june.GetFirst() != 50 {
				t.Errorf("%s: June 30 = %v, %v", name, june, err)
			}
			got, err := nodes[1].sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name})
			if ends := got.GetSequence().GetEndedPeriods(); err != nil || len(ends) != 2 || ends[0].GetNext() != 51 || ends[1].GetNext() != once.GetFirst()+1 ||
				got.GetSequence().GetLateMs() != lateMillis {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			if status, body := nodes[2].ask("POST", "/v1/sequences:next", `{"sequence":"`+name+`","count":1,"period":"2026-06-30"}`); status != 200 || !strings.Contains(body, `"first":"51"`) {
				t.Errorf("%s: over HTTP %d %s", name, status, body)
			}
		}
	})
}

func failureOf[T any](_ T, err error) error { return err }

// A restore closes earlier periods until they are resumed. Late numbers are then disjoint from those of the earlier cluster.
func TestRestoreClosesEarlierPeriods(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		old.createSequence(lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT))
		old.next("inv", 3)
		old.enterNextDay("inv")
		old.next("inv", 3)
		late := &snowraftv1.NextNumbersRequest{Sequence: "inv", Count: 5, Period: "2026-07-01"}
		if _, err := old.sequences.NextNumbers(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		n, _ := restoredMember(t, old)
		lost, err := old.sequences.NextNumbers(t.Context(), late)
		if err != nil {
			t.Fatal(err)
		}
		old.stop()
		n.start()
		until(t, "the restored member leads", n.leads)
		resume := func(period string, after int64) error {
			return failureOf(n.sequences.ResumeSequence(t.Context(), &snowraftv1.ResumeSequenceRequest{Sequence: "inv", Period: period, After: &after}))
		}
		if err := resume("2026-07-01", 100); reason(err) != rpc.SequenceFrozen {
			t.Errorf("a period before the sequence: %v", err)
		}
		if err := resume("", 1000); err != nil {
			t.Fatal(err)
		}
		for _, period := range []string{"2026-07-01", "2026-06-30"} {
			late.Period, late.From = period, nil
			if period == "2026-06-30" {
				late.From = new(int64(1))
			}
			if _, err := n.sequences.NextNumbers(t.Context(), late); reason(err) != rpc.SequenceFrozen {
				t.Errorf("late numbers of %s before the period is resumed: %v", period, err)
			}
		}
		if err := resume("2026-07-01", 1); reason(err) != rpc.WouldRepeat {
			t.Errorf("resumed below what the backup knows: %v", err)
		}
		if err := resume("2026-07-01", lost.GetFirst()+4); err != nil {
			t.Fatal(err)
		}
		late.Period, late.From = "2026-07-01", nil
		if got, err := n.sequences.NextNumbers(t.Context(), late); err != nil || got.GetFirst() != lost.GetFirst()+5 {
			t.Errorf("late numbers after the restore = %v, %v, want them after %v", got, err, lost)
		}
	})
}

// Only a caller that may change the sequence states how a period ended.
func TestStatedEndsNeedARight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		admin := snowraftv1.NewSequenceServiceClient(s.admin(s.nodes[0]))
		if _, err := admin.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT)}); err != nil {
			t.Fatal(err)
		}
		made, err := snowraftv1.NewTokenServiceClient(s.admin(s.nodes[0])).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{
			Token: &snowraftv1.Token{Name: "shop", Scopes: []string{"seq:next:inv"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range s.nodes {
			_, err := n.sequences.NextNumbers(as(t.Context(), made.GetText()), &snowraftv1.NextNumbersRequest{Sequence: "inv", Count: 1, Period: "2026-07-01"})
			wantReason(t, "a period", err, "")
			_, err = n.sequences.NextNumbers(as(t.Context(), made.GetText()), &snowraftv1.NextNumbersRequest{
				Sequence: "inv", Count: 1, Period: "2026-06-30", From: new(int64(5)),
			})
			wantReason(t, "a stated end", err, rpc.PermissionDenied)
		}
		_, err = snowraftv1.NewSequenceServiceClient(s.admin(s.nodes[1])).NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{
			Sequence: "inv", Count: 1, Period: "2026-06-30", From: new(int64(5)),
		})
		wantReason(t, "an administrator's word", err, "")
	})
}

// A member that has just started does not know yet that the upgrade is finalized, and does not deny it.
func TestLateNumbersAtAMemberThatStarts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT))
		starts := nodes[0]
		if starts.leads() {
			starts = nodes[1]
		}
		starts.stop()
		starts.start()
		until(t, "the member answers", func() bool {
			_, err := starts.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "inv", Count: 1, Period: "2026-07-01"})
			if reason(err) == rpc.VersionTooLow {
				t.Errorf("NextNumbers() = %v", err)
			}
			return err == nil
		})
	})
}
