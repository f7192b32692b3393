package lives

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
)

func TestRelationOfLives(t *testing.T) {
	t.Parallel()
	of := func(cluster string, ancestors ...string) Message {
		return Message{Cluster: cluster, Ancestors: ancestors}
	}
	for _, c := range []struct {
		own, other   Message
		want, other2 Relation // other2: what the other side says
	}{
		{of("a"), of("a"), Same, Same},
		{of("a"), of("b"), Unrelated, Unrelated},
		{of("b", "a"), of("a"), Older, Younger},
		{of("c", "a", "b"), of("a"), Older, Younger},
		{of("c", "a", "b"), of("b", "a"), Older, Younger},
		{of("c", "a"), of("b", "a"), Sibling, Sibling},
		{of("d", "a", "c"), of("b", "a"), Sibling, Sibling}, // the descendant of a sibling
		{of("c", "b"), of("d", "a"), Unrelated, Unrelated},
	} {
		if got, back := relationOf(c.own, c.other), relationOf(c.other, c.own); got != c.want || back != c.other2 {
			t.Errorf("%v, %v: %d and %d, want %d and %d", c.own, c.other, got, back, c.want, c.other2)
		}
	}
}

// A message that was said to another nonce, or that no member can send, is refused.
func TestLifeIsChecked(t *testing.T) {
	t.Parallel()
	nonce := NewNonce()
	valid := func() Message {
		return Message{Cluster: uuid.NewString(), Ancestors: []string{uuid.NewString()}, Answers: nonce, Members: []string{"x@h:1"}}
	}
	if err := valid().Check(nonce); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Message){
		"another nonce":       func(l *Message) { l.Answers = NewNonce() },
		"no nonce":            func(l *Message) { l.Answers = "" },
		"no cluster":          func(l *Message) { l.Cluster = "" },
		"a bad ancestor":      func(l *Message) { l.Ancestors[0] = "x" },
		"too many ancestors":  func(l *Message) { l.Ancestors = slices.Repeat(l.Ancestors, MaxAncestors+1) },
		"too many members":    func(l *Message) { l.Members = slices.Repeat(l.Members, MaxMembers+1) },
		"a control character": func(l *Message) { l.Leader = "\x1b" },
		"a long address":      func(l *Message) { l.Members[0] = strings.Repeat("x", peer.MaxMeta+1) },
	} {
		l := valid()
		if edit(&l); l.Check(nonce) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
