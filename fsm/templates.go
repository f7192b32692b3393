package fsm

import (
	"fmt"
	"slices"
	"strings"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxTemplates is the greatest number of templates.
const maxTemplates = 1000

// Template is one template as it was when it was read. Spec must not be changed.
type Template struct {
	Spec          *commandv1.TemplateSpec
	CreatedMillis int64  // Unix ms on the creator's clock
	Generation    uint64 // log index of the last change
	Suspended     bool   // begins no sequence until it is resumed
	Start         *int64 // first number in periods that the cluster before a restore may have begun; nil: that of the settings
	Sequences     int    // live sequences that began with the pattern
}

// template is one template. It is never changed, only replaced, so that snapshots share it.
type template struct {
	pattern    string
	settings   *sequenceSpec // never changed; its template is the pattern
	quota      uint64
	created    int64 // Unix ms
	generation uint64
	suspended  bool
	start      *int64
}

// templates holds all templates, the most specific pattern first. No two equally specific ones match the same name, so
// the first pattern that matches a name is the only most specific one. The list is copied, never changed in place.
type templates []*template

// find returns the place of a pattern; if there is no such template, where it would be.
func (t templates) find(pattern string) (place int, ok bool) {
	return slices.BinarySearchFunc(t, pattern, func(t *template, pattern string) int { return orderOf(t.pattern, pattern) })
}

// orderOf is a total order of patterns in which more specific ones come first.
func orderOf(a, b string) int {
	if order := specificity(a, b); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// of returns the most specific template whose pattern matches a name; nil if there is none.
func (t templates) of(name string) *template {
	if at := slices.IndexFunc(t, func(t *template) bool { return matches(t.pattern, name) }); at >= 0 {
		return t[at]
	}
	return nil
}

// with returns the templates with one added or replaced.
func (t templates) with(made *template) templates {
	place, ok := t.find(made.pattern)
	t = slices.Clone(t)
	if ok {
		t[place] = made
		return t
	}
	return slices.Insert(t, place, made)
}

// named returns the template with that pattern.
func (t templates) named(pattern string) (*template, *Refused) {
	if place, ok := t.find(pattern); ok {
		return t[place], nil
	}
	return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_TEMPLATE, "template %.128q does not exist; see \"snowraft template list\"", pattern)
}

// message returns the specification of a template.
func (t *template) message() *commandv1.TemplateSpec {
	settings := t.settings.message("")
	settings.Template = ""
	return &commandv1.TemplateSpec{Pattern: t.pattern, Settings: settings, Quota: t.quota}
}

func (s *State) viewTemplate(t *template) Template {
	return Template{
		Spec: t.message(), CreatedMillis: t.created, Generation: t.generation, Suspended: t.suspended, Start: t.start,
		Sequences: s.begun[t.pattern],
	}
}

// Template returns the template with that pattern.
func (s *State) Template(pattern string) (Template, bool) {
	place, ok := s.templates.find(pattern)
	if !ok {
		return Template{}, false
	}
	return s.viewTemplate(s.templates[place]), true
}

// TemplateOf returns the template with which a sequence of that name would begin.
func (s *State) TemplateOf(name string) (Template, bool) {
	t := s.templates.of(name)
	if t == nil {
		return Template{}, false
	}
	return s.viewTemplate(t), true
}

// Templates returns up to limit templates whose patterns come after a pattern and begin with prefix, in ascending order of
// their patterns. No template needs to have the pattern.
func (s *State) Templates(after, prefix string, limit int) []Template {
	sorted := slices.SortedFunc(slices.Values(s.templates), func(a, b *template) int { return strings.Compare(a.pattern, b.pattern) })
	var page []Template
	for _, t := range sorted {
		if len(page) < limit && t.pattern > after && strings.HasPrefix(t.pattern, prefix) {
			page = append(page, s.viewTemplate(t))
		}
	}
	return page
}

// CheckTemplate returns the [*Refused] with which CreateTemplate would refuse a specification, or nil. As CheckSequence, it
// does not check the time zone and the format.
func CheckTemplate(spec *commandv1.TemplateSpec) error {
	if refused := checkTemplate(spec); refused != nil {
		return refused
	}
	return nil
}

func checkTemplate(spec *commandv1.TemplateSpec) *Refused {
	if err := CheckPattern(spec.GetPattern()); err != nil {
		return invalid("%v", err)
	}
	if spec.GetSettings().GetName() != "" || spec.GetSettings().GetTemplate() != "" {
		return invalid("settings of a template: must not have a name")
	}
	if spec.GetQuota() > maxSequences {
		return invalid("quota of %d sequences: expected at most %d, or 0 for no quota", spec.GetQuota(), maxSequences)
	}
	return checkSettings(spec.GetSettings())
}

// compactTemplate returns the settings of a checked specification.
func compactTemplate(spec *commandv1.TemplateSpec) *sequenceSpec {
	settings := compact(spec.GetSettings())
	settings.template = spec.GetPattern()
	return settings
}

// createTemplate adds a template. Repeating it with the same specification changes nothing and succeeds.
func (s *State) createTemplate(e entry) Result {
	spec := e.cmd.GetCreateTemplate().GetSpec()
	if refused := checkTemplate(spec); refused != nil {
		return Result{Err: refused}
	}
	made := &template{
		pattern: spec.GetPattern(), settings: compactTemplate(spec), quota: spec.GetQuota(), created: e.now, generation: e.index,
		suspended: s.restored != nil,
	}
	secret := e.cmd.GetCreateTemplate().GetCodeSecret()
	if refused := s.checkCodeSecret(made.settings.code, secret); refused != nil {
		return Result{Err: refused}
	}
	if old, unknown := s.templates.named(made.pattern); unknown == nil {
		if *old.settings != *made.settings || old.quota != made.quota {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_TEMPLATE_EXISTS,
				"template %q exists with other settings; update it, or choose another pattern", old.pattern)}
		}
		return Result{Template: s.viewTemplate(old)}
	}
	for _, t := range s.templates {
		if specificity(t.pattern, made.pattern) == 0 && meet(t.pattern, made.pattern) {
			return Result{Err: invalid("pattern %q: template %q is equally specific and matches some of the same names; "+
				"make one of the two more specific", made.pattern, t.pattern)}
		}
	}
	if len(s.templates) >= maxTemplates {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED, "limit of %d templates reached; delete one that is not used", maxTemplates)}
	}
	s.keepCodeSecret(made.settings.code, secret)
	return s.setTemplate(made)
}

// updateTemplate replaces a template's specification, for sequences that begin later. In a restored cluster, another
// increment, other periods or another format suspend the template: the start that the operator gave was for the old one.
func (s *State) updateTemplate(e entry) Result {
	c := e.cmd.GetUpdateTemplate()
	if refused := checkTemplate(c.GetSpec()); refused != nil {
		return Result{Err: refused}
	}
	old, refused := s.changeTemplate(c.GetSpec().GetPattern(), c.GetGeneration())
	if refused != nil {
		return Result{Err: refused}
	}
	next := *old
	next.settings, next.quota, next.generation = compactTemplate(c.GetSpec()), c.GetSpec().GetQuota(), e.index
	if s.restored != nil && (next.settings.increment != old.settings.increment || !next.settings.calendar().sameAs(old.settings.calendar()) ||
		next.settings.written() != old.settings.written()) {
		next.suspended, next.start = true, nil
	}
	if err := next.checkStart(); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if refused := s.checkCodeSecret(next.settings.code, c.GetCodeSecret()); refused != nil {
		return Result{Err: refused}
	}
	s.keepCodeSecret(next.settings.code, c.GetCodeSecret())
	return s.setTemplate(&next)
}

// changeTemplate returns the template that a command changes, if it has the generation.
func (s *State) changeTemplate(pattern string, generation uint64) (*template, *Refused) {
	t, refused := s.templates.named(pattern)
	if refused == nil && generation != t.generation {
		refused = refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
			"template %q has generation %d, not %d; read it again before you repeat the change", pattern, t.generation, generation)
	}
	return t, refused
}

// checkStart returns an error if sequences cannot begin at the start of the template.
func (t *template) checkStart() error {
	if t.start != nil && (*t.start < t.settings.min || *t.start > t.settings.max) {
		return fmt.Errorf("start %d, with which the template was resumed: expected %d to %d", *t.start, t.settings.min, t.settings.max)
	}
	return nil
}

// deleteTemplate deletes a template. It refuses if the command has a generation and the template was changed since.
func (s *State) deleteTemplate(e entry) Result {
	c := e.cmd.GetDeleteTemplate()
	old, refused := s.templates.named(c.GetPattern())
	if refused == nil && c.GetGeneration() != 0 {
		_, refused = s.changeTemplate(c.GetPattern(), c.GetGeneration())
	}
	if refused != nil {
		return Result{Err: refused}
	}
	s.templates = slices.DeleteFunc(slices.Clone(s.templates), func(t *template) bool { return t == old })
	s.revision++
	return Result{}
}

// resumeTemplate ends the suspension of a template. Sequences that begin with it start at the operator's number in every
// period that the earlier cluster may have begun.
func (s *State) resumeTemplate(e entry) Result {
	c := e.cmd.GetResumeTemplate()
	old, refused := s.changeTemplate(c.GetPattern(), c.GetGeneration())
	if refused != nil {
		return Result{Err: refused}
	}
	if !old.suspended {
		return Result{Err: invalid("template %q is not suspended; a restore suspends templates", old.pattern)}
	}
	next := *old
	next.suspended, next.start, next.generation = false, new(c.GetStart()), e.index
	if err := next.checkStart(); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	return s.setTemplate(&next)
}

// SuspendedTemplates returns the number of templates with which no sequence begins.
func (s *State) SuspendedTemplates() (n int) {
	for _, t := range s.templates {
		if t.suspended {
			n++
		}
	}
	return n
}

func (s *State) setTemplate(t *template) Result {
	s.templates = s.templates.with(t)
	s.revision++
	return Result{Template: s.viewTemplate(t)}
}

// suspendTemplates suspends all templates: the earlier cluster may have begun sequences that the state does not know.
func (s *State) suspendTemplates() {
	all := slices.Clone(s.templates)
	for i, t := range all {
		suspended := *t
		suspended.suspended, suspended.start = true, nil
		all[i] = &suspended
	}
	s.templates = all
}

// countBegun counts the live sequences of each pattern.
func (s *State) countBegun() {
	s.begun = map[string]int{}
	s.sequences.live.Scan(func(_ string, q *sequence) bool {
		s.noteBegun(q.spec.template, 1)
		return true
	})
}

// noteBegun adds to the number of live sequences that began with a pattern; empty: with none.
func (s *State) noteBegun(pattern string, n int) {
	if pattern == "" {
		return
	}
	if s.begun[pattern] += n; s.begun[pattern] == 0 {
		delete(s.begun, pattern)
	}
}
