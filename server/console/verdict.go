package console

import (
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// verdict is the state of the cluster in one sentence, and what is wrong.
type verdict struct {
	level
	Sentence string
	Findings []finding
}

// level is how good or bad something is, by word and by color.
type level struct{ Class, Word string }

// First and Rest are the parts of the sentence before and after its first semicolon.
func (v verdict) First() string {
	first, _, _ := strings.Cut(v.Sentence, "; ")
	return first
}

// Rest is empty if the sentence has one part.
func (v verdict) Rest() string {
	_, rest, _ := strings.Cut(v.Sentence, "; ")
	return rest
}

type finding struct {
	level
	Text, Action string // Text is empty if the sentence begins with it
	Command      string
	Runbook      string // a path; empty without one
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

// asSentence returns a text with a capital at its beginning, unless that is the name of a member.
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
			shown.Text = "" // right below the sentence
		}
		if f.GetRunbook() != "" {
			shown.Runbook = runbookPath + "#" + f.GetRunbook()
		}
		v.Findings = append(v.Findings, shown)
	}
	return v
}
