package fsm

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// newTemplateLog has the templates t/*, with a quota of two sequences, and t/a*.
func newTemplateLog(t testing.TB) *log {
	l := newLog(t)
	l.must(at(epoch, observe(false)))
	l.must(raise(DocumentVersion))
	spec := templateOf("t/*", resetting(resetDaily))
	spec.Quota = 2
	l.must(at(epoch, createTemplate(spec)))
	l.must(at(epoch, createTemplate(templateOf("t/a*", numbers(100, 1, 1, 200)))))
	return l
}

func (l *log) template(pattern string) Template {
	l.t.Helper()
	t, ok := l.Template(pattern)
	if !ok {
		l.t.Fatalf("there is no template %q", pattern)
	}
	return t
}

func TestTemplatesNeedTheVersion(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.must(raise(DocumentVersion - 1))
	l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, createTemplate(templateOf("t/*")))
	l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, begin("t/1", 1, 0))
	limited := createToken("a")
	limited.GetCreateToken().Sequences = 1
	if got := MinVersion(limited); got != DocumentVersion {
		t.Errorf("a limit of sequences needs version %d", got)
	}
}

func TestCreateTemplate(t *testing.T) {
	t.Parallel()
	l := newTemplateLog(t)
	generation := l.template("t/*").Generation
	again := templateOf("t/*", resetting(resetDaily))
	again.Quota = 2
	if got := l.must(createTemplate(again)).Template; got.Generation != generation {
		t.Errorf("again: %+v", got)
	}
	again.Quota = 3
	l.refused(templateExists, createTemplate(again))
	l.must(createTemplate(templateOf("t/*-x")))
	for name, spec := range map[string]*commandv1.TemplateSpec{
		"no pattern":   templateOf(""),
		"no wildcard":  templateOf("t/1"),
		"no increment": templateOf("u/*", numbers(1, 0, 1, 2)),
		"a name":       templateOf("u/*", func(s *commandv1.SequenceSpec) { s.Name = "u/1" }),
		"a template":   templateOf("u/*", func(s *commandv1.SequenceSpec) { s.Template = "u/*" }),
		"a huge quota": {Pattern: "u/*", Settings: plain(""), Quota: maxSequences + 1},
		"no settings":  {Pattern: "u/*"},
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			l.refused(invalidArgument, createTemplate(spec))
		})
	}
	l.t = t
	l.must(createTemplate(templateOf("t/*x-"))) // no name ends with both -x and x-
	l.must(createTemplate(templateOf("x/*b/*c")))
	l.refused(invalidArgument, createTemplate(templateOf("x/*/*bc"))) // x/ab/abc matches both
	l.survives()
}

func TestTemplatesAreLimited(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.must(raise(DocumentVersion))
	for i := range maxTemplates {
		l.must(createTemplate(templateOf(fmt.Sprintf("t%d/*", i))))
	}
	l.refused(limitReached, createTemplate(templateOf("more/*")))
	if got := l.Templates("", "t99", 100); len(got) != 11 {
		t.Errorf("%d templates begin with t99, want 11", len(got))
	}
}

func TestFirstUse(t *testing.T) {
	t.Parallel()
	l := newTemplateLog(t)
	day, other := l.template("t/*").Generation, l.template("t/a*").Generation
	l.refused(unknownSeq, begin("u/1", day, 0))
	l.refused(invalidArgument, begin("t/ ", day, 20250101))
	l.refused(mismatchedGen, begin("t/a1", day, 20250101)) // the more specific pattern wins
	l.refused(invalidArgument, begin("t/1", day, 0))
	if got := l.must(begin("t/a1", other, 0)).Sequence; got.Next != 100 || got.Spec.GetTemplate() != "t/a*" {
		t.Errorf("%+v", got)
	}
	l.must(begin("t/1", day, 20250101))
	created := l.seq("t/1").Incarnation
	if got := l.must(begin("t/1", day, 20250101)).Sequence; got.Incarnation != created {
		t.Errorf("again: %+v", got)
	}
	l.must(begin("t/2", day, 20250101))
	l.refused(limitReached, begin("t/3", day, 20250101))
	l.must(remove("t/2"))
	l.refused(unknownSeq, begin("t/2", day, 20250101)) // a deleted name never begins again automatically
	l.must(begin("t/3", day, 20250101))
	l.survives()
	l.refused(unknownSeq, begin("t/2", day, 20250101))
	l.must(create(plain("t/2"), 0)) // on purpose it does
	l.must(deleteTemplate("t/a*", 0))
	if got := l.seq("t/a1"); got.Spec.GetTemplate() != "t/a*" {
		t.Errorf("%+v", got)
	}
	l.survives()
}

// The template of a sequence is set by its first use only.
func TestTemplateOfASequenceNeverChanges(t *testing.T) {
	t.Parallel()
	l := newTemplateLog(t)
	l.must(begin("t/a1", l.template("t/a*").Generation, 0))
	spec := l.seq("t/a1").Spec
	l.must(create(plain("t/a1", numbers(100, 1, 1, 200)), 0)) // equal settings
	spec.Template = ""
	l.refused(invalidArgument, change(spec, l.seq("t/a1").Generation))
	l.refused(invalidArgument, create(plain("t/a2", func(s *commandv1.SequenceSpec) { s.Template = "t/a*" }), 0))
}

// An INCR on demand does not overrule a template that its proposer did not see.
func TestOnDemandFollowsTemplates(t *testing.T) {
	t.Parallel()
	l := newTemplateLog(t)
	c := proto.CloneOf(l.Config())
	c.RedisCreate = commandv1.AutoCreate_AUTO_CREATE_STRICT
	l.must(setConfig(c, 0))
	l.refused(mismatchedGen, onDemand(create(plain("t/1"), 0)))
	l.must(onDemand(create(plain("u/1"), 0)))
}

// In a restored cluster, new sequences of a template start at the operator's number in periods that the earlier cluster may
// have begun, and at the start of the settings in later ones.
func TestResumeTemplate(t *testing.T) {
	t.Parallel()
	l := newTemplateLog(t)
	l.refused(invalidArgument, resumeTemplate("t/*", l.template("t/*").Generation, 7))
	r := Restoration{
		NowMillis: epoch + 1, OldCluster: "old", OldEndedMillis: epoch, MaxWindowMillis: 1000, MaxOffsetMillis: 500, ZonesKept: true,
		Period: func(Periods, int64) (int32, error) { return 20250101, nil },
	}
	r.Index = l.FirstIndex(l.index, r.NowMillis, epoch)
	if err := l.Restore(r); err != nil {
		t.Fatal(err)
	}
	l.index = r.Index
	l.survives()
	l.must(acknowledge(r.Index))
	all := l.SuspendedTemplates()
	if n := len(l.Templates("", "", 100)); n == 0 || all != n {
		t.Errorf("%d of %d templates are suspended", all, n)
	}
	l.refused(templateSuspended, begin("t/1", l.template("t/*").Generation, 20250102))
	l.refused(mismatchedGen, resumeTemplate("t/*", 1, 7))
	l.refused(unknownTemplate, resumeTemplate("z/*", 1, 7))
	l.refused(invalidArgument, resumeTemplate("t/a*", l.template("t/a*").Generation, 201))
	l.must(resumeTemplate("t/*", l.template("t/*").Generation, 7))
	if n := l.SuspendedTemplates(); n != all-1 {
		t.Errorf("%d templates are suspended after one was resumed, want %d", n, all-1)
	}
	l.must(begin("t/1", l.template("t/*").Generation, 20250101))
	l.gives("t/1", 1, 20250101, 7, 1)
	l.gives("t/1", 1, 20250102, 1, 1)
	l.refused(wouldRepeats, set(l.seq("t/1").Spec, l.seq("t/1").Generation, 1))
	l.must(begin("t/2", l.template("t/*").Generation, 20250103))
	l.gives("t/2", 1, 20250103, 1, 1)
	l.survives()
	// A template of the restored cluster begins suspended, and so does one with another reset.
	l.must(createTemplate(templateOf("n/*")))
	l.refused(templateSuspended, begin("n/1", l.template("n/*").Generation, 0))
	l.must(updateTemplate(templateOf("t/*"), l.template("t/*").Generation))
	l.refused(templateSuspended, begin("t/3", l.template("t/*").Generation, 0))
	l.survives()
}

// A snapshot with a template that no state has is refused.
func TestSnapshotsOfTemplatesAreChecked(t *testing.T) {
	t.Parallel()
	good := &commandv1.SnapshotTemplate{Spec: templateOf("t/*"), Generation: 5}
	for name, spoil := range map[string]func(*commandv1.SnapshotTemplate){
		"nothing":          func(*commandv1.SnapshotTemplate) {},
		"no pattern":       func(m *commandv1.SnapshotTemplate) { m.Spec.Pattern = "" },
		"no generation":    func(m *commandv1.SnapshotTemplate) { m.Generation = 0 },
		"suspended":        func(m *commandv1.SnapshotTemplate) { m.Suspended = true },
		"resumed":          func(m *commandv1.SnapshotTemplate) { m.Start = new(int64(1)) },
		"an early version": func(*commandv1.SnapshotTemplate) {},
	} {
		m := proto.CloneOf(good)
		spoil(m)
		r := &snapshotDecoder{state: NewState(), tokenNames: map[string]bool{}}
		if r.state.version = DocumentVersion; name == "an early version" {
			r.state.version--
		}
		if err := r.addTemplate(m); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := &snapshotDecoder{state: NewState()}
	r.state.version = DocumentVersion
	if err := errors.Join(r.addTemplate(good), r.addTemplate(&commandv1.SnapshotTemplate{Spec: templateOf("tt/*"), Generation: 6})); err == nil {
		t.Error("a more specific template was read after another one")
	}
}
