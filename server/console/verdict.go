package console

import (
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// verdict is the state of the cluster in one sentence, and its problems.
type verdict struct {
	level
	Sentence string
	Findings []finding
}

// level is a rating, as a word and as the class of a color.
type level struct{ Class, Word string }

// First returns the part of the sentence before its first semicolon.
func (v verdict) First() string {
	first, _, _ := strings.Cut(v.Sentence, "; ")
	return first
}

// Rest returns the part of the sentence after its first semicolon, without the action; empty if there is none.
func (v verdict) Rest() string {
	_, rest, _ := strings.Cut(v.Sentence, "; ")
	if todo := v.Todo(); todo != "" {
		rest = strings.TrimSuffix(strings.TrimSuffix(rest, todo), "; ")
		if rest != "" {
			rest += "."
		}
	}
	return rest
}

// Todo returns the end of the sentence if it is the action of the first finding; empty otherwise. A page that shows the
// finding below the sentence shows the action only there.
func (v verdict) Todo() string {
	if len(v.Findings) == 0 || v.Findings[0].Action == "" {
		return ""
	}
	if todo := v.Findings[0].Action + "."; strings.HasSuffix(v.Sentence, "; "+todo) {
		return todo
	}
	return ""
}

type finding struct {
	level
	Text, Action string // Text is empty if the sentence begins with it
	Command      string
	Runbook      string // path; empty without one
}

func levelOf(l snowraftv1.VerdictLevel) level {
	switch l {
	case snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD:
		return level{"good", "Good"}
	case snowraftv1.VerdictLevel_VERDICT_LEVEL_WARNING:
		return level{"warn", "Attention"}
	case snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD:
		return level{"bad", "Problem"}
	default:
		return level{"none", "Unknown"}
	}
}

// asSentence capitalizes the beginning of a text, unless the text begins with the name of a member.
func asSentence(o *snowraftv1.Overview, text string) string {
	word, _, _ := strings.Cut(text, " ")
	for _, m := range o.GetMembers() {
		if m.GetMember().GetName() == strings.TrimSuffix(word, ",") {
			return text
		}
	}
	return upperFirst(text)
}

func verdictOf(o *snowraftv1.Overview) verdict {
	v := verdict{level: levelOf(o.GetVerdict().GetLevel()), Sentence: o.GetVerdict().GetSentence()}
	for i, f := range o.GetVerdict().GetFindings() {
		shown := finding{level: levelOf(f.GetLevel()), Text: asSentence(o, f.GetText()), Action: f.GetAction(), Command: f.GetCommand()}
		if i == 0 && v.First() == shown.Text {
			shown.Text = "" // the sentence is right above
		}
		if f.GetRunbook() != "" {
			shown.Runbook = runbookPath + "#" + f.GetRunbook()
		}
		v.Findings = append(v.Findings, shown)
	}
	return v
}
