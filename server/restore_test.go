package server_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// restoredMember starts the first member of a cluster that is restored from a backup of old.
func restoredMember(t *testing.T, old *node, join ...string) (*node, *backup.Restored) {
	t.Helper()
	b, err := old.backup(false)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, "restored", func(c *server.Config) { c.Join = join })
	n.cfg.DataDir = filepath.Join(t.TempDir(), "restored")
	now := time.Now().UnixMilli()
	r, err := backup.Restore{NowMillis: now, OldEndedMillis: now}.Into(n.cfg.DataDir, b)
	if err != nil {
		t.Fatal(err)
	}
	return n, r
}

func short(c *server.Config) { c.MaxWindow = 2 * time.Second }

func TestRestoredClusterIssuesFromReportedTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		if _, err := old.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT},
		}); err != nil {
			t.Fatal(err)
		}
		first := old.mustGenerate(1)[0]
		n, r := restoredMember(t, old)
		last := old.mustGenerate(1)[0]
		old.stop()
		n.start()
		until(t, "the restored member leads", n.leads)

		status := n.status()
		if got := status.GetRestoration(); status.GetClusterId() != r.Cluster || got.GetAncestors()[0] != r.Old || got.GetFrozenSequences() != 1 ||
			!got.GetNamesClosed() || got.GetIssuesAtMs() != r.IssuesMillis {
			t.Errorf("status: %v, restored: %+v", status, r)
		}
		if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); reason(err) != rpc.SequenceFrozen {
			t.Errorf("NextNumbers() = %v, want %s", err, rpc.SequenceFrozen)
		}
		if got, err := n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "orders"}); reason(err) != rpc.SequenceFrozen {
			t.Errorf("GetLast() = %v, %v, want %s", got, err, rpc.SequenceFrozen)
		}
		create := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "new"}}
		if _, err := n.sequences.CreateSequence(t.Context(), create); reason(err) != rpc.RestoreUnacknowledged {
			t.Errorf("CreateSequence() = %v, want %s", err, rpc.RestoreUnacknowledged)
		}
		configure(t, n, snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
		index := n.server.Member().Node().LastIndex()
		for range 3 {
			if _, err := n.server.Create(t.Context(), "new"); !errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_RESTORE_UNACKNOWLEDGED}) {
				t.Errorf("INCR of an unknown key: %v", err)
			}
		}
		if got := n.server.Member().Node().LastIndex(); got != index {
			t.Errorf("three refused INCRs wrote %d entries to the log", got-index)
		}
		other := join(t, "joined", []*node{n})
		untilVoters(t, n, 2)

		granted := strconv.FormatInt(r.IssuesMillis-limits.DefaultThreshold.Milliseconds(), 10) // windows may begin that far ahead
		var ids []int64
		until(t, "the restored member issues IDs", func() bool {
			var err error
			ids, err = n.generate(1, 0)
			if e := rpc.FromError(err); err != nil && (e.Reason != rpc.Fenced || e.Metadata[rpc.MetadataRetryAt] != granted) {
				t.Errorf("GenerateIds() = %v, %v, want %s until %s", err, e.Metadata, rpc.Fenced, granted)
			}
			if _, body := ask(t, browser(t), http.MethodGet, "http://"+n.server.HTTPAddr()+"/readyz", ""); strings.Contains(body, "allocator:") {
				t.Errorf("/readyz: %s", body)
			}
			return err == nil
		})
		if at := time.Now().UnixMilli(); at < r.IssuesMillis-20 { // lanes issue a few milliseconds ahead of the clock
			t.Errorf("the first ID was issued at %d, %d ms before the time that was said", at, r.IssuesMillis-at)
		}
		if ids[0] <= max(first, last) {
			t.Errorf("ID %d after %d and %d of the old cluster", ids[0], first, last)
		}
		other.untilReady()
		after := int64(5649)
		resumed, err := other.sequences.ResumeSequence(t.Context(), &snowraftv1.ResumeSequenceRequest{Sequence: "orders", After: &after, Margin: 10})
		if err != nil || resumed.GetSequence().GetNext() != 5660 {
			t.Fatalf("ResumeSequence() = %v, %v", resumed, err)
		}
		if frozen, err := other.sequences.ListFrozenSequences(t.Context(), &snowraftv1.ListFrozenSequencesRequest{}); err != nil || len(frozen.GetSequences()) != 0 {
			t.Errorf("ListFrozenSequences() = %v, %v", frozen, err)
		}
		next, err := other.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1})
		if err != nil || next.GetFirst() != 5660 {
			t.Errorf("NextNumbers() = %v, %v", next, err)
		}
		if _, err := snowraftv1.NewOperationsServiceClient(other.conn).AcknowledgeRestore(t.Context(), &snowraftv1.AcknowledgeRestoreRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.sequences.CreateSequence(t.Context(), create); reason(err) != rpc.InvalidArgument {
			t.Errorf("CreateSequence() without a start = %v", err)
		}
		create.Sequence.Start = new(int64(1))
		for range 2 { // a repetition finds the sequence
			if _, err := other.sequences.CreateSequence(t.Context(), create); err != nil {
				t.Error(err)
			}
		}
		if got := n.status().GetRestoration(); got.GetNamesClosed() || got.GetFrozenSequences() != 0 {
			t.Errorf("status: %v", got)
		}
	})
}

func TestRestoredClusterGrantsNothingWhileTheOldOneRuns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		n, _ := restoredMember(t, old, old.server.GossipAddr())
		n.start()
		until(t, "status names the old member", func() bool { return n.status().GetRestoration().GetOldClusterAlive() != "" })
		until(t, "GenerateIds fails with "+rpc.OldClusterAlive, func() bool {
			_, err := n.generate(1, 0)
			return reason(err) == rpc.OldClusterAlive
		})
		old.mustGenerate(1)
	})
}

// The restored cluster holds windows and blocks when the old one returns. It issues nothing from them, in any way.
func TestRestoredClusterStopsWhenTheOldOneReturns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		n, _ := restoredMember(t, old, old.server.GossipAddr())
		old.stop()
		n.start()
		until(t, "the restored member issues", func() bool { _, err := n.generate(1, 0); return err == nil })
		if _, err := snowraftv1.NewOperationsServiceClient(n.conn).AcknowledgeRestore(t.Context(), &snowraftv1.AcknowledgeRestoreRequest{}); err != nil {
			t.Fatal(err)
		}
		next := func(name string) error {
			_, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
			return err
		}
		for name, mode := range map[string]snowraftv1.SequenceMode{"relaxed": snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, "strict": snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT} {
			if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, Mode: mode, Start: new(int64(1))}}); err != nil {
				t.Fatal(err)
			}
			if err := next(name); err != nil {
				t.Fatal(err)
			}
		}
		old.cfg.Join, old.cfg.BootstrapExpect = []string{n.server.GossipAddr()}, 0
		old.start()
		stopped := func() bool {
			_, err := n.generate(1, 0)
			return reason(err) == rpc.OldClusterAlive && reason(next("relaxed")) == rpc.OldClusterAlive && reason(next("strict")) == rpc.OldClusterAlive
		}
		until(t, "the restored cluster stops", func() bool { _, err := n.generate(1, 0); return reason(err) == rpc.OldClusterAlive })
		for range 100 {
			if !stopped() {
				t.Fatal("issues while the old cluster runs")
			}
			<-time.After(100 * time.Millisecond)
		}
		old.stop()
		<-time.After(25 * time.Second)
		if !stopped() {
			t.Error("issues 25 s after the last sign of the old cluster")
		}
		until(t, "the restored cluster continues", func() bool {
			_, err := n.generate(1, 0)
			return err == nil && next("relaxed") == nil && next("strict") == nil
		})
	})
}

// A restored cluster may have lost a layout "twitter" with another datacenter. It creates none, and Thrift clients get the reason.
func TestRestoredClusterCreatesNoLayoutForThrift(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		n, _ := restoredMember(t, old)
		old.stop()
		n.cfg.ThriftAddr = "127.0.0.1:0"
		n.start()
		until(t, "the restored member leads", n.leads)
		until(t, "get_id fails with "+rpc.RestoreUnacknowledged, func() bool {
			return strings.HasSuffix(thriftFailure(t, n.server.ThriftAddr()), "["+rpc.RestoreUnacknowledged+"]")
		})
		if got, err := n.layouts.ListLayouts(t.Context(), &snowraftv1.ListLayoutsRequest{}); err != nil || len(got.GetLayouts()) != 1 {
			t.Errorf("ListLayouts() = %v, %v, want only the layout \"default\"", got, err)
		}
		if _, err := snowraftv1.NewOperationsServiceClient(n.conn).AcknowledgeRestore(t.Context(), &snowraftv1.AcknowledgeRestoreRequest{}); err != nil {
			t.Fatal(err)
		}
		until(t, "the layout is created", func() bool {
			got, err := n.layouts.ListLayouts(t.Context(), &snowraftv1.ListLayoutsRequest{})
			return err == nil && len(got.GetLayouts()) == 2
		})
	})
}

// A restore skips the periods that may have begun in any time zone, so that a sequence can be in a period that has not begun by
// the clock. Its calls accept that period.
func TestRestoredGaplessSequenceIsInASkippedPeriod(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		if _, err := old.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{
			Name: "invoices", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY,
			TimeZone: "Pacific/Pago_Pago",
		}}); err != nil {
			t.Fatal(err)
		}
		before := old.reserve("invoices", "a")[0]
		n, _ := restoredMember(t, old)
		old.stop()
		n.start()
		until(t, "the restored member leads", n.leads)
		if _, err := n.sequences.ResumeSequence(t.Context(), &snowraftv1.ResumeSequenceRequest{Sequence: "invoices", After: new(int64(3))}); err != nil {
			t.Fatal(err)
		}
		r := n.reserve("invoices", "b")[0]
		if r.GetNumber() != 4 || r.GetPeriod() <= before.GetPeriod() {
			t.Errorf("number %d in %s after a restore, want 4 in a period after %s", r.GetNumber(), r.GetPeriod(), before.GetPeriod())
		}
		service := n.reservations()
		for _, period := range []string{"", r.GetPeriod()} {
			number := int64(5 + len(period))
			if _, err := service.TakeNumbers(t.Context(), &snowraftv1.TakeNumbersRequest{
				Sequence: "invoices", Period: period, Number: number,
			}); err != nil {
				t.Errorf("TakeNumbers() in the period %q = %v", period, err)
			}
			if _, err := service.ResolveNumbers(t.Context(), &snowraftv1.ResolveNumbersRequest{
				Sequence: "invoices", Period: period, Number: 1, Count: 3, Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED,
			}); err != nil {
				t.Errorf("ResolveNumbers() in the period %q = %v", period, err)
			}
			audit, err := service.AuditPeriod(t.Context(), &snowraftv1.AuditPeriodRequest{Sequence: "invoices", Period: period})
			if s := audit.GetSummary(); err != nil || s.GetPeriod() != r.GetPeriod() || s.GetLast() != number || s.GetConfirmed() != 3 {
				t.Errorf("AuditPeriod() of %q = %v, %v, want 3 numbers confirmed and the last one %d in %s", period, s, err, number, r.GetPeriod())
			}
		}
	})
}
