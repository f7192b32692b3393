package fsm

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The tenants: a walk over templates, first uses of names by two tokens, and everything that happens to these names. The
// rules are written once more in the plainest way: a pattern is a regular expression, the most specific one is found by
// comparing all, and each name has the settings that its template had at the first use. The cluster is restored from an
// old backup, and the numbers of lost tenants count on. Some templates have codes, and some are gapless.

var (
	tenantPatterns = []string{"t/*", "t/a*", "t/*z", "t/*/*", "t/*/b*", "*/1"}
	tenantNames    = []string{"t/1", "t/a1", "t/a", "t/az", "t/1/b2", "t/1/b", "t/1/c", "u/1", "v"}
)

// tenantTemplate is the reference of a template.
type tenantTemplate struct {
	spec       *commandv1.TemplateSpec
	generation uint64
	suspended  bool
	start      int64 // if resumed
	resumed    bool
}

// tenant is the reference of a name that was used.
type tenant struct {
	pattern string
	spec    *commandv1.SequenceSpec
	deleted bool
}

// tenants is the walk. The state that a restore takes back is in reference.
type tenants struct {
	source
	*log
	reference
	old      reference
	backup   []byte
	day      int32
	restores int
	numbers  map[livesNumber]bool // numbers of all names that ever lived
	ids      [2]uint64            // IDs of the tokens
}

// reference holds the walk's knowledge of the state.
type reference struct {
	templates map[string]tenantTemplate
	names     map[string]tenant
	begun     [2]uint64
	limits    [2]uint64
	restored  bool
}

func (k reference) clone() reference {
	k.templates, k.names = maps.Clone(k.templates), maps.Clone(k.names)
	return k
}

func newTenants(t testing.TB, s source) *tenants {
	w := &tenants{source: s, log: newLog(t), reference: reference{templates: map[string]tenantTemplate{}, names: map[string]tenant{}}, day: 20250101, numbers: map[livesNumber]bool{}}
	w.must(at(epoch, observe(false)))
	w.must(raise(DocumentVersion))
	for i := range w.ids {
		cmd := createToken(fmt.Sprint("token-", i), "a")
		w.limits[i] = uint64(3 * i)
		cmd.GetCreateToken().Sequences = w.limits[i]
		w.ids[i] = w.must(cmd).Token.ID
	}
	w.keep()
	return w
}

// keep takes a backup.
func (w *tenants) keep() {
	w.survives()
	w.backup, w.old = snapshotBytes(w.t, w.State), w.reference.clone()
}

func (w *tenants) step() error {
	name := tenantNames[w.choose("name", len(tenantNames))]
	switch w.choose("action", 20) {
	case 0, 1, 2:
		return w.define()
	case 3:
		return w.drop()
	case 4:
		w.day++
	case 5:
		if len(w.names) > 0 {
			w.keep()
		}
	case 6:
		return w.bringBack()
	case 7:
		return w.resume()
	case 8:
		return w.bury(name)
	case 9:
		w.survives()
	case 10, 11, 12, 13:
		return w.use(name)
	default:
		return w.firstUse(name)
	}
	return nil
}

func (w *tenants) spec(pattern string) *commandv1.TemplateSpec {
	n := [][4]int64{{1, 1, 1, 50}, {10, 3, 1, 400}, {50, -2, -300, 100}}[w.choose("numbers", 3)]
	spec := templateOf(pattern, numbers(n[0], n[1], n[2], n[3]), resetting([]commandv1.SequenceReset{resetNone, resetDaily}[w.choose("reset", 2)]))
	spec.Settings.Description = fmt.Sprint("edition ", w.index)
	spec.Quota = uint64(w.choose("quota", 4))
	if n[2] >= 0 && w.choose("coded", 3) == 0 {
		spec.Settings.Code = &commandv1.Code{Alphabet: digits, Length: uint32(6 + w.choose("length", 2))}
	}
	if n[1] == 1 && spec.Quota%2 == 0 {
		accounted(spec.Settings)
	}
	return spec
}

// define creates or changes a template.
func (w *tenants) define() error {
	pattern := tenantPatterns[w.choose("pattern", len(tenantPatterns))]
	spec := w.spec(pattern)
	old, ok := w.templates[pattern]
	if !ok {
		r := w.do(createTemplate(spec))
		// The patterns t/a* and t/*z are equally specific in nothing but the number of wildcards; no two of the list clash.
		if r.Err != nil {
			return violated("create", "%v", r.Err)
		}
		w.templates[pattern] = tenantTemplate{spec: proto.CloneOf(spec), generation: r.Index, suspended: w.restored}
		return nil
	}
	r := w.do(updateTemplate(spec, old.generation))
	outside := func(t tenantTemplate) bool {
		return t.resumed && (t.start < spec.Settings.Min || t.start > spec.Settings.Max)
	}
	next := old
	next.spec, next.generation = proto.CloneOf(spec), r.Index
	if before, after := old.spec.Settings, spec.Settings; w.restored && (before.Increment != after.Increment || before.Reset_ != after.Reset_) {
		next.suspended, next.resumed = true, false
	}
	if outside(next) != (r.Err != nil) {
		return violated("update", "%v from %+v: %v", spec, old, r.Err)
	}
	if r.Err == nil {
		w.templates[pattern] = next
	}
	return nil
}

func (w *tenants) drop() error {
	pattern := tenantPatterns[w.choose("pattern", len(tenantPatterns))]
	_, ok := w.templates[pattern]
	if r := w.do(deleteTemplate(pattern, 0)); (r.Err == nil) != ok {
		return violated("delete", "%q: %v", pattern, r.Err)
	}
	delete(w.templates, pattern)
	return nil
}

// best returns the template of a name, by comparing all.
func (w *tenants) best(name string) (tenantTemplate, bool) {
	rank := func(pattern string) [3]int {
		return [3]int{-strings.Index(pattern, "*"), strings.Count(pattern, "*"), -len(pattern)}
	}
	var found []string
	for pattern := range w.templates {
		if regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", "[^/]+") + "$").MatchString(name) {
			found = append(found, pattern)
		}
	}
	if len(found) == 0 {
		return tenantTemplate{}, false
	}
	return w.templates[slices.MinFunc(found, func(a, b string) int {
		x, y := rank(a), rank(b)
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(x[2], y[2]))
	})], true
}

// firstUse uses a name that may not exist, by one of the tokens.
func (w *tenants) firstUse(name string) error {
	i := w.choose("token", len(w.ids))
	t, some := w.best(name)
	was, knew := w.names[name]
	cmd := begin(name, t.generation, w.period(t.spec.GetSettings()))
	cmd.Actor = &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: w.ids[i], JudgedAt: w.index}
	stale := w.choose("stale", 8) == 0
	if stale {
		cmd.GetBeginSequence().Template++
	}
	r := w.do(cmd)
	live := uint64(0)
	for _, n := range w.names {
		if !n.deleted && n.pattern == t.spec.GetPattern() {
			live++
		}
	}
	want := commandv1.Refusal(0)
	switch {
	case knew && !was.deleted:
		if r.Err != nil || r.Sequence.Incarnation == r.Index || !proto.Equal(r.Sequence.Spec, was.spec) {
			return violated("existing", "%q: %v, %+v", name, r.Err, r.Sequence)
		}
		return nil
	case knew, !some:
		want = unknownSeq
	case t.suspended:
		want = templateSuspended
	case t.spec.Quota > 0 && live >= t.spec.Quota:
		want = limitReached
	case stale:
		want = mismatchedGen
	case w.limits[i] > 0 && w.begun[i] >= w.limits[i]:
		want = limitReached
	}
	if reason := reasonOf(r); reason != want {
		return violated("first use", "%q by token %d with %+v of %d: %v, want %v", name, i, t, live, r.Err, want)
	}
	if want != 0 {
		return nil
	}
	spec := proto.CloneOf(t.spec.Settings)
	spec.Name, spec.Template = name, t.spec.Pattern
	if !proto.Equal(r.Sequence.Spec, spec) {
		return violated("copy", "%q began as %v, want %v", name, r.Sequence.Spec, spec)
	}
	w.begun[i]++
	w.names[name] = tenant{pattern: spec.Template, spec: spec}
	return nil
}

func (w *tenants) period(spec *commandv1.SequenceSpec) int32 {
	if spec.GetReset_() == resetNone {
		return 0
	}
	return w.day
}

// use takes a number, which no sequence of the name ever had in the period, not even one that was lost.
func (w *tenants) use(name string) error {
	was, ok := w.names[name]
	got, live := w.Sequence(name)
	if live != (ok && !was.deleted) || live && !proto.Equal(got.Spec, was.spec) {
		return violated("name", "%q is %+v, want %+v", name, got.Spec, was)
	}
	if !live || got.Frozen {
		return nil
	}
	r, n := w.number(got)
	if r.Err != nil {
		if r.Err.Reason != exhaustedReas {
			return violated("use", "%v", r.Err)
		}
		return nil
	}
	if w.numbers[n] {
		return violated("number", "%+v was issued before", n)
	}
	w.numbers[n] = true
	return nil
}

// number takes a number of a sequence, or reserves one under a new key.
func (w *tenants) number(q Sequence) (Result, livesNumber) {
	name, period := q.Spec.GetName(), w.period(q.Spec)
	if q.Spec.GetMode() != gapless {
		r := w.do(allocate(name, q.Generation, 1, period))
		return r, livesNumber{name, r.Block.Period, r.Block.First}
	}
	r := w.do(reserveIn(name, q.Generation, period, fmt.Sprint("key-", w.index)))
	if r.Err != nil {
		return r, livesNumber{}
	}
	return r, livesNumber{name, r.Reservations[0].Period, r.Reservations[0].Number}
}

func (w *tenants) bury(name string) error {
	was, ok := w.names[name]
	if !ok || was.deleted {
		return nil
	}
	if got, _ := w.Sequence(name); got.Frozen {
		return nil
	}
	record, _ := w.sequences.live.Get(name)
	kept := record.ledger != nil // a ledger explains its numbers
	if r := w.do(remove(name)); (r.Err != nil) != kept {
		return violated("delete", "%v", r.Err)
	}
	if kept {
		return nil
	}
	was.deleted = true
	w.names[name] = was
	return nil
}

// bringBack restores the cluster from the backup, and resumes all sequences that it knows with their last numbers.
func (w *tenants) bringBack() error {
	if w.restores++; w.restores > 3 {
		return nil
	}
	s, err := ReadState(readerOf(w.backup), Version)
	if err != nil {
		return violated("read", "%v", err)
	}
	ended := epoch + int64(w.day-20250101)*24*livesHour
	r := Restoration{
		NowMillis: ended + int64(w.restores), OldCluster: fmt.Sprint("cluster-", w.restores), OldEndedMillis: ended,
		MaxWindowMillis: 1000, MaxOffsetMillis: 500, ZonesKept: true, KeepTokens: true,
		Period: func(Periods, int64) (int32, error) { return w.day, nil },
	}
	r.Index = s.FirstIndex(w.index, r.NowMillis, ended)
	if err := s.Restore(r); err != nil {
		return violated("restore", "%v", err)
	}
	w.State, w.index, w.reference = s, r.Index, w.old.clone()
	w.restored = true
	for pattern, t := range w.templates {
		t.suspended, t.resumed = true, false
		w.templates[pattern] = t
	}
	w.must(acknowledge(r.Index))
	for _, q := range w.Frozen("", 100) {
		last, some := int64(0), false
		for n := range w.numbers {
			if n.name == q.Spec.GetName() && (!some || (n.number > last) == (q.Spec.GetIncrement() > 0)) {
				last, some = n.number, true
			}
		}
		cmd := resume(q.Spec.GetName(), q.Generation, nil, 0)
		if some {
			cmd.GetResumeSequence().After = &last
		}
		if r := w.do(cmd); reasonOf(r) == wouldRepeats { // the state knows later numbers
			cmd.GetResumeSequence().After = nil
			w.must(cmd)
		} else if r.Err != nil {
			return violated("resume", "%v", r.Err)
		}
		if was := w.names[q.Spec.GetName()]; !was.deleted { // resuming may remove the reset
			was.spec = w.seq(q.Spec.GetName()).Spec
			w.names[q.Spec.GetName()] = was
		}
	}
	w.keep()
	return nil
}

// resume resumes a template above the numbers of all names that match it.
func (w *tenants) resume() error {
	pattern := tenantPatterns[w.choose("pattern", len(tenantPatterns))]
	t, ok := w.templates[pattern]
	if !ok {
		return nil
	}
	settings := t.spec.Settings
	start := settings.Start
	for n := range w.numbers {
		switch {
		case !matches(pattern, n.name):
		case settings.Increment > 0:
			start = max(start, n.number+1)
		default:
			start = min(start, n.number-1)
		}
	}
	r := w.do(resumeTemplate(pattern, t.generation, start))
	if want := t.suspended && start >= settings.Min && start <= settings.Max; want != (r.Err == nil) {
		return violated("resume", "%+v at %d: %v", t, start, r.Err)
	}
	if r.Err == nil {
		t.suspended, t.resumed, t.start, t.generation = false, true, start, r.Index
		w.templates[pattern] = t
	}
	return nil
}

// check compares the templates and their counts with the reference.
func (w *tenants) check() error {
	for pattern, want := range w.templates {
		live := 0
		for name, n := range w.names {
			if got, ok := w.Sequence(name); ok && n.pattern == pattern && !n.deleted && got.Spec.GetTemplate() == pattern {
				live++
			}
		}
		got, ok := w.Template(pattern)
		if !ok || got.Generation != want.generation || got.Suspended != want.suspended || got.Sequences != live || !proto.Equal(got.Spec, want.spec) ||
			(got.Start != nil) != want.resumed || want.resumed && *got.Start != want.start {
			return violated("template", "%+v, want %+v and %d sequences", got, want, live)
		}
	}
	if got := len(w.Templates("", "", 100)); got != len(w.templates) {
		return violated("templates", "%d, want %d", got, len(w.templates))
	}
	for i, id := range w.ids {
		if r, _ := w.Token(id); r.Begun != w.begun[i] {
			return violated("token", "%d sequences begun, want %d", r.Begun, w.begun[i])
		}
	}
	return nil
}

func (w *tenants) run(steps int) error {
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
	}
	w.survives()
	return w.check()
}

func TestTenants(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		if err := newTenants(t, drawn{rt}).run(60); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestTenantSeeds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(depth.Of(depth.Little(100, 200), 5000)) {
		w := newTenants(t, seeded{rand.New(rand.NewPCG(seed, 2))})
		if err := w.run(150); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
