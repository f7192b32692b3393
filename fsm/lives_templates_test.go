package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The templates of a life, and the first uses of names that match them.

var livesPatterns = []string{"t/*", "t/a*"}

func (w *lives) template(s *State) *commandv1.Command {
	if s.FSMVersion() < DocumentVersion {
		return raise(DocumentVersion)
	}
	pattern := livesPatterns[w.choose("pattern", len(livesPatterns))]
	t, ok := s.Template(pattern)
	spec := &commandv1.TemplateSpec{Pattern: pattern, Settings: w.spec(""), Quota: uint64(w.choose("quota", 3))}
	if spec.GetSettings().GetMin() >= 0 && w.choose("coded", 2) == 0 {
		spec.Settings.Code = &commandv1.Code{Alphabet: digits, Length: 6}
	}
	switch kind := w.choose("template", 8); {
	case !ok:
		return createTemplate(spec)
	case kind == 0:
		return deleteTemplate(pattern, []uint64{0, t.Generation}[w.choose("blind", 2)])
	case kind == 1:
		return updateTemplate(spec, t.Generation)
	}
	name := livesNames[3+w.choose("first use", 2)]
	if t, ok = s.TemplateOf(name); !ok {
		return nil
	}
	period, _ := livesPeriod(PeriodsOf(t.Spec.GetSettings()), w.clock())
	return begin(name, t.Generation, period)
}

// resumeTemplate resumes a template with a start beyond all numbers that were granted of names that match it, in any life.
func (w *lives) resumeTemplate() *commandv1.Command {
	pattern := livesPatterns[w.choose("resumed pattern", len(livesPatterns))]
	t, ok := w.s.Template(pattern)
	if !ok {
		return nil
	}
	settings := t.Spec.GetSettings()
	start := settings.GetStart()
	for n := range w.numbers {
		if !matches(pattern, n.name) {
			continue
		}
		if settings.GetIncrement() > 0 {
			start = max(start, n.number+1)
		} else {
			start = min(start, max(n.number, math.MinInt64+1)-1)
		}
	}
	return resumeTemplate(pattern, t.Generation, start)
}
