package member

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// vouchers returns the specification of a sequence with codes of six digits.
func vouchers(name string, mode commandv1.SequenceMode, changes ...func(*commandv1.SequenceSpec)) *commandv1.SequenceSpec {
	spec := &commandv1.SequenceSpec{
		Name: name, Increment: 1, Max: 999_999, Mode: mode, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
		BlockDurationMs: 10_000, MinBlock: 100, MaxBlock: 1000, Format: "V-{code:digits:6}{check:luhn}",
	}
	for _, change := range changes {
		change(spec)
	}
	return spec
}

const (
	strict  = commandv1.SequenceMode_SEQUENCE_MODE_STRICT
	relaxed = commandv1.SequenceMode_SEQUENCE_MODE_RELAXED
)

// openNewest opens a member that uses the newest commands.
func openNewest(t *testing.T) *Member {
	t.Helper()
	m := openOne(t)
	if _, err := m.propose(t.Context(), m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{
		RaiseVersion: &commandv1.RaiseVersion{Version: fsm.Version},
	}}); err != nil {
		t.Fatal(err)
	}
	return m
}

// texts issues numbers at the leader and returns their texts.
func texts(t *testing.T, m *Member, name string, count uint64) (all []string) {
	t.Helper()
	n, err := m.NextAtLeader(t.Context(), name, count, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Count {
		all = append(all, string(n.Append(nil, i)))
	}
	return all
}

func mustCreate(t *testing.T, m *Member, spec *commandv1.SequenceSpec, force Force) {
	t.Helper()
	if _, err := m.CreateSequence(t.Context(), spec, force); err != nil {
		t.Fatal(err)
	}
}

// A sequence of a million codes is issued whole: all texts are different and of one length, and lead back to their
// numbers. After the last one, the sequence is exhausted, and another one of its name has no number left either.
func TestMillionCodesAreIssued(t *testing.T) {
	m := openNewest(t)
	mustCreate(t, m, vouchers("v", strict), Force{})
	seen := make(map[string]bool, 1_000_000)
	codes := make([]bool, 1_000_000)
	for next := int64(0); next < 1_000_000; {
		n, err := m.NextAtLeader(t.Context(), "v", 100_000, "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range n.Count {
			text := string(n.Append(nil, i))
			code, err := strconv.Atoi(text[2:8])
			if err != nil || len(text) != len("V-0000000") || seen[text] || codes[code] {
				t.Fatalf("%q is too long, or was issued before: %v", text, err)
			}
			seen[text], codes[code] = true, true
			if read, err := n.Format.Parse(text); err != nil || read.Number != next {
				t.Fatalf("Parse(%q) = %d, %v, want %d", text, read.Number, err, next)
			}
			next++
		}
	}
	if _, err := m.NextAtLeader(t.Context(), "v", 1, ""); !refusedFor(err, commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED) {
		t.Errorf("after the last code: %v", err)
	}
	if _, err := m.DeleteSequence(t.Context(), "v", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateSequence(t.Context(), vouchers("v", relaxed), Force{}); !refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) {
		t.Errorf("created over its own numbers: %v", err)
	}
}

func TestCodesWaitForTheUpgrade(t *testing.T) {
	m := openOne(t)
	_, err := m.CreateSequence(t.Context(), vouchers("v", strict), Force{})
	if e, ok := errors.AsType[*VersionError](err); !ok || e.Need != fsm.DocumentVersion {
		t.Errorf("%v, want a VersionError", err)
	}
}

func TestCodesBelongToTheName(t *testing.T) {
	m := openNewest(t)
	mustCreate(t, m, vouchers("v", strict), Force{})
	mustCreate(t, m, vouchers("other", relaxed), Force{})
	first := texts(t, m, "v", 3)
	if others := texts(t, m, "other", 3); others[0] == first[0] && others[1] == first[1] {
		t.Errorf("two sequences write %v and %v", first, others)
	}
	update := func(edit func(*commandv1.SequenceSpec), force Force) error {
		_, err := m.UpdateSequence(t.Context(), "v", Update{Edit: func(s *commandv1.SequenceSpec) error { edit(s); return nil }, Force: force})
		return err
	}
	for name, edit := range map[string]func(*commandv1.SequenceSpec){
		"another length":   func(s *commandv1.SequenceSpec) { s.Format = "W-{code:digits:7}" },
		"another alphabet": func(s *commandv1.SequenceSpec) { s.Format = "W-{code:base32:6}" },
		"another maximum":  func(s *commandv1.SequenceSpec) { s.Max = 1_000_000 },
		"another minimum":  func(s *commandv1.SequenceSpec) { s.Min = -1 },
	} {
		if err := update(edit, Force{Numbers: true, Format: true}); !refusedFor(err, commandv1.Refusal_REFUSAL_INVALID_ARGUMENT) {
			t.Errorf("%s by force: %v", name, err)
		}
	}
	if err := update(func(s *commandv1.SequenceSpec) { s.Format = "{code:digits:6}V-0" }, Force{}); err != nil {
		t.Errorf("the code elsewhere: %v", err)
	}
	if err := update(func(s *commandv1.SequenceSpec) { s.Format = "{code:digits:6}{seq}" }, Force{}); err == nil {
		t.Error("two numbers in a format")
	}
	if err := update(func(s *commandv1.SequenceSpec) { s.Format = "{seq}" }, Force{}); err != nil {
		t.Errorf("no codes, and other texts: %v", err)
	}
	if err := update(func(s *commandv1.SequenceSpec) { s.Format = "{code:digits:6}{check:luhn}" }, Force{}); !refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) {
		t.Errorf("codes that read like numbers of the old format: %v", err)
	}
}

// The texts of a deleted sequence with codes do not come back, in whatever format.
func TestDeletedSequencesWithCodes(t *testing.T) {
	m := openNewest(t)
	after := func(format string) func(*commandv1.SequenceSpec) {
		return func(s *commandv1.SequenceSpec) { s.Start, s.Format = 1000, format }
	}
	remove := func(name string) {
		t.Helper()
		if _, err := m.DeleteSequence(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, format := range []string{"", "{seq:07}", "V{seq}-", "V-{seq:07}", "{code:digits:6}", "V-{code:digits:6}", "V-{code:digits:6}1"} {
		name := fmt.Sprint("v", i)
		mustCreate(t, m, vouchers(name, strict), Force{})
		texts(t, m, name, 3)
		remove(name)
		_, err := m.CreateSequence(t.Context(), vouchers(name, strict, after(format)), Force{})
		overlaps := format == "V-{seq:07}" || format == "V-{code:digits:6}1"
		if refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) != overlaps || !overlaps && err != nil {
			t.Errorf("format %q: %v, want a refusal: %v", format, err, overlaps)
		}
		if overlaps {
			mustCreate(t, m, vouchers(name, strict, after(format)), Force{Format: true})
		}
	}
	mustCreate(t, m, vouchers("plain", strict, func(s *commandv1.SequenceSpec) { s.Format = "{seq}" }), Force{})
	texts(t, m, "plain", 3)
	remove("plain")
	mustCreate(t, m, vouchers("plain", strict, after("P-{code:digits:6}")), Force{})
	remove("plain")
	if _, err := m.CreateSequence(t.Context(), vouchers("plain", strict, after("{code:digits:6}")), Force{}); !refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) {
		t.Errorf("codes over a deleted sequence without: %v", err)
	}
}

func TestCodesOfRepeatedRequests(t *testing.T) {
	m := openNewest(t)
	mustCreate(t, m, vouchers("v", strict, func(s *commandv1.SequenceSpec) { s.Format, s.Max, s.Start = "N{seq}", math.MaxInt64, 1_000_000 }), Force{})
	ctx := WithActor(t.Context(), Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN})
	if _, err := m.NextAtLeader(ctx, "v", 2, "id"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.UpdateSequence(t.Context(), "v", Update{Next: new(int64(7)), Force: Force{Numbers: true}, Edit: func(s *commandv1.SequenceSpec) error {
		s.Format, s.Max, s.Start = "{code:digits:6}", 999_999, 7
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.NextAtLeader(ctx, "v", 2, "id"); !errors.Is(err, allocator.ErrOutdatedBlock) || !strings.Contains(err.Error(), "have no codes") {
		t.Errorf("numbers from before the codes: %v", err)
	}
	again := func(id string) string {
		n, err := m.NextAtLeader(ctx, "v", 2, id)
		if err != nil {
			t.Fatal(err)
		}
		return string(n.Append(n.Append(nil, 0), 1))
	}
	if one, other := again("new"), again("new"); one != other {
		t.Errorf("a request got %q and then %q", one, other)
	}
}

func TestTooManyCodesOfACall(t *testing.T) {
	m := openNewest(t)
	for _, mode := range []commandv1.SequenceMode{strict, relaxed} {
		name := mode.String()
		mustCreate(t, m, vouchers(name, mode), Force{})
		if _, err := m.NextAtLeader(t.Context(), name, 100_001, ""); !errors.Is(err, allocator.ErrInvalidArgument) || !strings.Contains(err.Error(), "at most 100000") {
			t.Errorf("%v: %v", mode, err)
		}
		if got := texts(t, m, name, 1); got[0] == "" {
			t.Errorf("%v: %v", mode, got)
		}
	}
	if _, ok := m.TryNext(relaxed.String(), 100_001); ok {
		t.Error("too many codes without a wait")
	}
	if n, ok := m.TryNext(relaxed.String(), 1); !ok || len(n.Append(nil, 0)) != len("V-0000000") {
		t.Errorf("%+v, %v", n, ok)
	}
}

func TestCodeKeysAreBoundToSecretAndName(t *testing.T) {
	m := openNewest(t)
	mustCreate(t, m, vouchers("v", strict), Force{})
	first := texts(t, m, "v", 1)[0]
	var secret fsm.CodeSecret
	var ok bool
	m.fsm.View(func(s *fsm.State) { secret, ok = s.CodeSecret() })
	if !ok || bytes.Equal(secret[:], make([]byte, len(secret))) {
		t.Fatal("no secret was drawn")
	}
	format, err := sequence.ParseFormat(vouchers("v", strict).GetFormat())
	if err != nil {
		t.Fatal(err)
	}
	own, err := withCodeKey(format, secret, "v")
	if err != nil {
		t.Fatal(err)
	}
	read, err := own.Parse(first)
	if err != nil || read.Number != 0 {
		t.Errorf("Parse(%q) = %d, %v", first, read.Number, err)
	}
	secret[0]++
	other, err := withCodeKey(format, secret, "v")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(other.Append(nil, 0, time.Time{})); text == first {
		t.Errorf("another secret writes %q, too", text)
	}
}

// A restored cluster without the secret of the earlier one draws another only by force.
func TestRestoredClusterWithoutSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restored, known, force, drawn bool
	}{
		{false, false, false, true}, {false, true, false, false}, {true, false, false, false}, {true, false, true, true}, {true, true, false, false},
	} {
		secret, err := drawCodeSecret(c.known, c.restored, c.force)
		if refused := c.restored && !c.known && !c.force; (len(secret) == len(fsm.CodeSecret{})) != c.drawn || refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) != refused {
			t.Errorf("%+v: %d bytes, %v", c, len(secret), err)
		}
	}
}

// Names that begin with a template have codes, each its own.
func TestCodesOfTemplates(t *testing.T) {
	m := openNewest(t)
	settings := vouchers("", strict, func(s *commandv1.SequenceSpec) { s.Format = "{name:2}-{code:digits:6}" })
	if _, err := m.CreateTemplate(t.Context(), &commandv1.TemplateSpec{Pattern: "v/*", Settings: settings}, false); err != nil {
		t.Fatal(err)
	}
	var state fsm.Template
	m.fsm.View(func(s *fsm.State) { state, _ = s.Template("v/*") })
	if c := state.Spec.GetSettings().GetCode(); c.GetLength() != 6 {
		t.Errorf("the template has the codes %v", c)
	}
	settings = vouchers("", strict, func(s *commandv1.SequenceSpec) { s.Max = 1_000_000 })
	if _, err := m.CreateTemplate(t.Context(), &commandv1.TemplateSpec{Pattern: "w/*", Settings: settings}, true); !refusedFor(err, commandv1.Refusal_REFUSAL_INVALID_ARGUMENT) {
		t.Errorf("numbers beyond the codes: %v", err)
	}
}
