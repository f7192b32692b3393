package client_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/sequence"
)

func TestTemplatesAreManaged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		c := startNumberCluster(t, 3)
		eventually(t, "the cluster has the newest version", func() (newest bool) {
			c.members[0].Member().State().View(func(s *fsm.State) { newest = s.FSMVersion() == fsm.Version })
			return newest
		})
		cl, ctx := c.client(), t.Context()
		settings := defaults("")
		settings.Reset, settings.Format = sequence.ResetYearly, "INV-{name:2}-{date:yyyy}-{seq:05}"
		spec := client.TemplateSpec{Pattern: "invoices/*", Quota: 7, Settings: client.SequenceSpec{Reset: settings.Reset, Format: settings.Format}}
		made, err := cl.CreateTemplate(ctx, spec)
		if want := (client.TemplateSpec{Pattern: "invoices/*", Quota: 7, Settings: settings}); err != nil || !reflect.DeepEqual(made.TemplateSpec, want) || made.Generation == 0 || made.Suspended {
			t.Fatalf("created %+v, %v, want %+v", made, err, want)
		}
		if _, err := cl.CreateTemplate(ctx, client.TemplateSpec{Pattern: "invoices/*"}); !errors.Is(err, client.ErrTemplateExists) {
			t.Errorf("another template of the pattern: %v", err)
		}
		repeating := client.TemplateSpec{Pattern: "carts/*", Settings: client.SequenceSpec{Reset: sequence.ResetYearly, Format: "{seq}"}}
		if _, err := cl.CreateTemplate(ctx, repeating); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a format that repeats texts: %v", err)
		}
		if _, err := cl.CreateTemplate(ctx, repeating, client.WithSequenceForceFormat()); err != nil {
			t.Errorf("a forced format: %v", err)
		}
		for i := range 3 {
			if text, err := cl.Sequence(fmt.Sprint("invoices/", i)).NextText(ctx); err != nil || text != fmt.Sprintf("INV-%d-2026-00001", i) {
				t.Errorf("first use of %d: %q, %v", i, text, err)
			}
		}
		if _, err := cl.Sequence("invoices/0").SetNext(ctx, 500); err != nil {
			t.Fatal(err)
		}

		// A change reaches new names only, and an application the others, except where a number is beyond the new maximum.
		update := client.TemplateUpdate{Settings: client.SequenceUpdate{Increment: new(int64(-1)), Max: new(int64(400))}, Quota: new(uint64(3))}
		if _, err := cl.UpdateTemplate(ctx, "invoices/*", update, client.WithSequenceGeneration(made.Generation+1)); !errors.Is(err, client.ErrGenerationMismatch) {
			t.Errorf("an update of another generation: %v", err)
		}
		changed, err := cl.UpdateTemplate(ctx, "invoices/*", update, client.WithSequenceGeneration(made.Generation))
		if err != nil || changed.Quota != 3 || *changed.Settings.Increment != -1 || changed.Settings.Format != settings.Format || changed.Sequences != 3 {
			t.Errorf("changed %+v, %v", changed, err)
		}
		if _, err := cl.Sequence("invoices/3").Next(ctx); !errors.Is(err, client.ErrLimitReached) {
			t.Errorf("beyond the quota: %v", err)
		}
		for _, dryRun := range []bool{true, false} {
			var names []string
			refused := 0
			for s, err := range cl.ApplyTemplate(ctx, "invoices/*", dryRun, client.WithSequenceGeneration(changed.Generation)) {
				if err != nil {
					t.Fatal(err)
				}
				if names = append(names, s.Name); errors.Is(s.Err, client.ErrWouldRepeat) {
					refused++
				}
				if !slices.Equal(s.Fields, []string{"increment", "max"}) || len(s.UnreachedMembers) != 0 {
					t.Errorf("applied %+v", s)
				}
			}
			if refused != 2 || !slices.Equal(names, []string{"invoices/0", "invoices/1", "invoices/2"}) {
				t.Errorf("dry run %t: applied to %q, %d refused", dryRun, names, refused)
			}
		}
		for s, err := range cl.ApplyTemplate(ctx, "invoices/*", false, client.WithSequenceGeneration(made.Generation)) {
			if !errors.Is(err, client.ErrGenerationMismatch) {
				t.Errorf("applied %+v, %v by an old generation", s, err)
			}
		}
		if info, err := cl.GetSequence(ctx, "invoices/0"); err != nil || *info.Increment != -1 {
			t.Errorf("the sequence became %+v, %v", info, err)
		}

		var patterns []string
		for info, err := range cl.ListTemplates(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			patterns = append(patterns, info.Pattern)
		}
		if !slices.Equal(patterns, []string{"carts/*", "invoices/*"}) {
			t.Errorf("listed %q", patterns)
		}
		if _, err := cl.ResumeTemplate(ctx, "carts/*", 1); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a template that is not suspended: %v", err)
		}
		if unreached, err := cl.DeleteTemplate(ctx, "invoices/*"); err != nil || len(unreached) != 0 {
			t.Errorf("deleted: %q, %v", unreached, err)
		}
		if _, err := cl.GetTemplate(ctx, "invoices/*"); !errors.Is(err, client.ErrUnknownTemplate) {
			t.Errorf("a deleted template: %v", err)
		}
		if _, err := cl.Sequence("invoices/1").Next(ctx); err != nil {
			t.Errorf("a sequence without its template: %v", err)
		}
	})
}

// Options that a call cannot honor are refused before it is made.
func TestTemplateOptions(t *testing.T) {
	t.Parallel()
	cl, err := client.New([]string{"127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Close() }()
	force, ctx := client.WithSequenceForce(), t.Context()
	_, created := cl.CreateTemplate(ctx, client.TemplateSpec{Pattern: "a/*"}, client.WithSequenceGeneration(1))
	_, updated := cl.UpdateTemplate(ctx, "a/*", client.TemplateUpdate{}, force)
	_, deleted := cl.DeleteTemplate(ctx, "a/*", force)
	_, resumed := cl.ResumeTemplate(ctx, "a/*", 1, client.WithSequenceForceFormat())
	for i, err := range []error{created, updated, deleted, resumed} {
		if !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}
