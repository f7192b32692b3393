//go:build process

package processtest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/earlierversion"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// earlierFSMVersion is the version of log commands that the earlier version of the program knows.
const earlierFSMVersion = fsm.DocumentVersion - 1

// buildEarlier builds the version of the program before document numbers, once.
var buildEarlier = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(program), "snowraft-earlier")
	return path, earlierversion.Build(context.Background(), path)
})

// newFeatures are calls, each of which needs commands of document numbers. They may be repeated.
var newFeatures = []struct {
	name string
	call func(ctx context.Context, m *member) error
}{
	{"a reset by week", creates(&snowraftv1.Sequence{Name: "weekly", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_WEEKLY})},
	{"late numbers", creates(&snowraftv1.Sequence{Name: "bills", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, LateMs: 86_400_000})},
	{"a gapless sequence", creates(&snowraftv1.Sequence{Name: "invoices", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS})},
	{"codes", creates(&snowraftv1.Sequence{Name: "vouchers", Format: "{code:base32:8}"})},
	{"a template", func(ctx context.Context, m *member) error {
		_, err := snowraftv1.NewTemplateServiceClient(m.conn).CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{
			Template: &snowraftv1.Template{Pattern: "tenants/*", Settings: &snowraftv1.Sequence{Format: "T-{name:2}-{seq}"}},
		})
		return err
	}},
	{"a past", func(ctx context.Context, m *member) error {
		_, err := snowraftv1.NewLayoutServiceClient(m.conn).CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
			Name: "archive", UnitMs: 1, EpochAtMs: 1_420_070_400_000, Past: true, Fields: []*snowraftv1.Field{
				{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
				{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10},
				{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
			},
		}})
		return err
	}},
}

func creates(s *snowraftv1.Sequence) func(context.Context, *member) error {
	return func(ctx context.Context, m *member) error {
		_, err := m.numbers.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: s})
		return err
	}
}

// feature calls a feature with a time limit.
func feature(m *member, call func(context.Context, *member) error) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), callTimeout)
	defer cancel()
	return call(ctx, m)
}

// refuses requests each new feature at a member, which must refuse it. A member of the newer version names the upgrade.
func (x *mixed) refuses(m *member) {
	x.t.Helper()
	for _, f := range newFeatures {
		var err error
		until(x.t, f.name+" is refused at "+m.name, func() bool {
			if err = feature(m, f.call); err == nil {
				x.t.Fatalf("%s accepted %s before the upgrade was finalized", m.name, f.name)
			}
			return m.program != x.next || rpc.FromError(err).Reason == rpc.VersionTooLow
		})
		if m.program == x.next && !strings.Contains(err.Error(), "snowraft upgrade") {
			x.t.Errorf("%s refused %s with %q, want the command that finalizes the upgrade", m.name, f.name, err)
		}
	}
}

// TestDocumentsWaitForTheUpgradeOfProcesses upgrades members of the version before document numbers one by one, under load. Whichever
// version leads, each member refuses the new features, and older features work. After the upgrade is finalized, the features work.
func TestDocumentsWaitForTheUpgradeOfProcesses(t *testing.T) {
	t.Parallel()
	earlier, err := buildEarlier()
	if err != nil {
		t.Fatal(err)
	}
	x := startMixed(t, earlier, program)
	refused := func() {
		t.Helper()
		for _, m := range x.members {
			x.refuses(m)
			if v := m.status().GetFsmVersion(); v != earlierFSMVersion {
				t.Errorf("%s is at version %d of the commands before the upgrade was finalized, want %d", m.name, v, earlierFSMVersion)
			}
		}
		x.numbers.untilNext(t, x.members...)
	}
	upgraded := x.members[2]
	x.swap(upgraded, program, fsm.Version)
	for i, leads := range []*member{x.members[0], upgraded} {
		x.transfer(leads)
		refused()
		until(t, "an older feature works", func() bool {
			return feature(upgraded, creates(&snowraftv1.Sequence{Name: fmt.Sprint("old/", i)})) == nil
		})
	}
	x.swap(upgraded, earlier, earlierFSMVersion)
	for _, m := range x.members {
		x.swap(m, program, fsm.Version)
	}
	refused()
	if stdout, stderr, code := x.run(program, "upgrade", "finalize"); code != 0 {
		t.Fatalf("finalize: exit code %d: %s%s", code, stdout, stderr)
	}
	for _, m := range x.members {
		until(t, m.name+" uses the new commands", func() bool { return m.status().GetFsmVersion() == fsm.Version })
		for _, f := range newFeatures {
			until(t, f.name+" is accepted at "+m.name, func() bool { return feature(m, f.call) == nil })
		}
	}
	texts := map[string]bool{}
	for _, m := range x.members {
		x.documents(m, texts)
	}
	x.lead(fsm.Version)
	x.judge()
}

// documents uses the new features at a member. All texts and IDs must be new.
func (x *mixed) documents(m *member, seen map[string]bool) {
	x.t.Helper()
	for _, args := range [][]string{
		{"seq", "next", "weekly"}, {"seq", "next", "bills"}, {"seq", "next", "vouchers"}, {"seq", "next", "tenants/acme"},
		{"seq", "reserve", "invoices", "order-" + m.name},
	} {
		text := strings.Join(args[:3], " ") + ": " + mustSucceed(x.t, m, args...)
		if seen[text] {
			x.t.Errorf("%s repeats %s", m.name, text)
		}
		seen[text] = true
	}
	backfills := snowraftv1.NewBackfillServiceClient(m.conn)
	var job *snowraftv1.StartBackfillResponse
	until(x.t, "a backfill job starts", func() (ok bool) {
		var err error
		job, err = backfills.StartBackfill(x.t.Context(), &snowraftv1.StartBackfillRequest{Layout: "archive"})
		return err == nil
	})
	var ids *snowraftv1.BackfillIdsResponse
	until(x.t, "the job issues IDs", func() (ok bool) {
		var err error
		ids, err = backfills.BackfillIds(x.t.Context(), &snowraftv1.BackfillIdsRequest{
			Layout: "archive", Job: job.GetBackfill().GetJob(), TimesMs: []int64{1_500_000_000_000}, RequestId: m.name,
		})
		return err == nil
	})
	if id := fmt.Sprint("archive: ", ids.GetIds()); seen[id] {
		x.t.Errorf("%s repeats %s", m.name, id)
	} else {
		seen[id] = true
	}
}
