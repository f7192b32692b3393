package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// After a restore, no format begins that could repeat the texts of one that the old cluster began after the backup: the operator
// states those first. Each text of both clusters is another one.
func TestFormatsAfterARestore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		old := startCluster(t, 1, short)[0]
		create := func(n *node, name, format string, start int64) error {
			return failureOf(n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: name, Format: format, Start: &start},
			}))
		}
		change := func(n *node, name, format string) error {
			return failureOf(n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name, Format: format}}))
		}
		var all []string
		next := func(n *node, name string, count uint32) {
			t.Helper()
			got, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: count})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, got.GetTexts()...)
		}
		succeed := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		resume := func(n *node, req *snowraftv1.ResumeSequenceRequest) error {
			return failureOf(n.sequences.ResumeSequence(t.Context(), req))
		}
		succeed(create(old, "inv", "A{seq}", 1))
		next(old, "inv", 3)
		succeed(create(old, "gone", "A{seq}", 1))
		succeed(failureOf(old.sequences.DeleteSequence(t.Context(), &snowraftv1.DeleteSequenceRequest{Name: "gone"})))
		succeed(create(old, "forced", "F{seq}", 1))
		succeed(failureOf(old.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "forced", Format: "F{seq:hex}"}, ForceFormat: true,
		})))
		n, _ := restoredMember(t, old)
		succeed(change(old, "inv", "B{seq:hex}"))
		next(old, "inv", 60)
		succeed(create(old, "gone", "C{seq}", 1))
		old.stop()
		n.start()
		until(t, "the restored member leads", n.leads)

		for name, req := range map[string]*snowraftv1.ResumeSequenceRequest{
			rpc.InvalidArgument: {Sequence: "inv", FormatsKept: true},
			"both":              {Sequence: "inv", FormatsKept: true, Formats: []string{"B{seq}"}, After: new(int64(200))},
			"no format":         {Sequence: "inv", Formats: []string{"B"}, After: new(int64(200))},
			"no text":           {Sequence: "inv", Formats: []string{""}, After: new(int64(200))},
			"too many":          {Sequence: "inv", Formats: make([]string, 65), After: new(int64(200))},
		} {
			if err := resume(n, req); rpc.FromError(err).Reason != rpc.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := change(n, "inv", "B{seq}"); reason(err) != rpc.SequenceFrozen {
			t.Errorf("a change of a frozen sequence: %v", err)
		}
		forced := &snowraftv1.ResumeSequenceRequest{Sequence: "forced", After: new(int64(200))}
		if err := resume(n, forced); reason(err) != rpc.WouldRepeat || !strings.Contains(err.Error(), "F{seq}") {
			t.Errorf("a sequence whose format can repeat texts of one in the backup: %v", err)
		}
		forced.ForceFormat = true
		succeed(resume(n, forced))
		succeed(resume(n, &snowraftv1.ResumeSequenceRequest{Sequence: "inv", After: new(int64(200))}))
		succeed(resume(n, &snowraftv1.ResumeSequenceRequest{Sequence: "gone", After: new(int64(200))}))
		next(n, "inv", 50)
		unknown := func(name string) bool {
			got, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name})
			succeed(err)
			return got.GetSequence().GetFormatsUnknown()
		}
		if !unknown("inv") {
			t.Error("formats since the backup are known without a statement")
		}
		for name, err := range map[string]error{"change": change(n, "inv", "B{seq}"), "create": create(n, "gone", "A{seq}", 300)} {
			if reason(err) != rpc.WouldRepeat || !strings.Contains(err.Error(), "--format-was") {
				t.Errorf("%s before the statement: %v", name, err)
			}
		}
		if err := resume(n, &snowraftv1.ResumeSequenceRequest{Sequence: "inv", Formats: []string{"A{seq:hex}"}}); reason(err) != rpc.WouldRepeat {
			t.Errorf("a format since the backup that repeats the present one: %v", err)
		}
		succeed(resume(n, &snowraftv1.ResumeSequenceRequest{Sequence: "inv", Formats: []string{"B{seq:hex}"}}))
		succeed(resume(n, &snowraftv1.ResumeSequenceRequest{Sequence: "gone", Formats: []string{"C{seq}"}}))
		if unknown("inv") {
			t.Error("the statement is forgotten")
		}
		if err := change(n, "inv", "B{seq}"); reason(err) != rpc.WouldRepeat {
			t.Errorf("a change to a format that repeats a stated one: %v", err)
		}
		succeed(change(n, "inv", "B{seq:hex}"))
		next(n, "inv", 300)
		succeed(create(n, "gone", "C{seq}", 300))
		slices.Sort(all)
		if distinct := slices.Compact(slices.Clone(all)); len(distinct) != 413 || len(all) != 413 {
			t.Errorf("%d texts, %d different ones, want 413", len(all), len(distinct))
		}
	})
}
