package member

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"
)

// codeAlphabets maps the alphabets of formats to those of commands.
var codeAlphabets = map[snowflake.Encoding]commandv1.CodeAlphabet{
	snowflake.Decimal: commandv1.CodeAlphabet_CODE_ALPHABET_DIGITS,
	snowflake.Base32:  commandv1.CodeAlphabet_CODE_ALPHABET_BASE32,
	snowflake.Base36:  commandv1.CodeAlphabet_CODE_ALPHABET_BASE36,
	snowflake.Base58:  commandv1.CodeAlphabet_CODE_ALPHABET_BASE58,
}

// define parses the specification of a sequence in the state, and gives its format the key of its codes. The key depends on
// nothing but the cluster's secret and the name. So a name has one key permanently, even if the sequence is created again
// after it was deleted, or after a restore lost it.
func (m *Member) define(s fsm.Sequence) (*definition, error) {
	d, err := define(s)
	if err == nil {
		d.format, err = m.keyed(d.format, s.Spec.GetName())
	}
	return d, err
}

// keyed gives a format of a name the key of its codes, if it writes codes.
func (m *Member) keyed(f *sequence.Format, name string) (*sequence.Format, error) {
	if codesOf(f) == nil {
		return f, nil
	}
	var secret fsm.CodeSecret
	var known bool
	m.fsm.View(func(s *fsm.State) { secret, known = s.CodeSecret() })
	if !known {
		return nil, fmt.Errorf("sequence %q has codes and no secret; check that all members run the same version", name)
	}
	return withCodeKey(f, secret, name)
}

// withCodeKey gives a format the key of a name.
func withCodeKey(f *sequence.Format, secret fsm.CodeSecret, name string) (*sequence.Format, error) {
	key, err := hkdf.Key(sha256.New, secret[:], nil, "snowraft codes of sequence "+name, sequence.CodeKeyBytes)
	if err != nil {
		return nil, err
	}
	return f.WithKey([sequence.CodeKeyBytes]byte(key))
}

// checkCodes returns an error for numbers without codes, if the format writes codes. A request that is repeated after the
// format was changed can have such numbers.
func (d *definition) checkCodes(n allocator.Numbers) error {
	if codesOf(d.format) == nil {
		return nil
	}
	c, _ := d.format.Code()
	first, last := n.First, n.Number(n.Count-1)
	if min(first, last) < 0 || max(first, last) > c.Max() {
		return fmt.Errorf("%w: the numbers from %d to %d have no codes, because the format was changed after they were issued", allocator.ErrOutdatedBlock, first, last)
	}
	return nil
}

// checkCount returns an error for a request for more codes than an answer holds.
func (d *definition) checkCount(count uint64) error {
	if count > limits.Texts && codesOf(d.format) != nil {
		return fmt.Errorf("%w: count %d: expected at most %d numbers per call of a sequence with codes", allocator.ErrInvalidArgument, count, limits.Texts)
	}
	return nil
}

// Coded reports whether the numbers of a sequence have codes, by this member's replica. It returns true for an unknown name, which may
// begin by its first use.
func (m *Member) Coded(sequence string) (coded bool) {
	m.fsm.View(func(s *fsm.State) {
		q, ok := s.Sequence(sequence)
		coded = !ok || q.Coded
	})
	return coded
}

// codesOf returns the codes of a format as a command has them; nil if it writes none.
func codesOf(f *sequence.Format) *commandv1.Code {
	if f == nil {
		return nil
	}
	c, coded := f.Code()
	if !coded {
		return nil
	}
	return &commandv1.Code{Alphabet: codeAlphabets[c.Encoding], Length: uint32(c.Length)} //nolint:gosec // at most 20
}

// newCodeSecret returns a secret for a command with codes, or nil if the command needs none.
func (m *Member) newCodeSecret(c *commandv1.Code, force bool) (secret []byte, err error) {
	if c == nil {
		return nil, nil
	}
	known, restored := false, false
	m.fsm.View(func(s *fsm.State) {
		_, known = s.CodeSecret()
		restored = s.Restored() != nil
	})
	return drawCodeSecret(known, restored, force)
}

// drawCodeSecret draws a secret unless one is known. Unless forced, it refuses to draw one in a restored cluster: codes under
// two secrets may be equal.
func drawCodeSecret(known, restored, force bool) ([]byte, error) {
	switch {
	case known:
		return nil, nil
	case restored && !force:
		return nil, &fsm.Refused{
			Reason: commandv1.Refusal_REFUSAL_WOULD_REPEAT,
			Detail: "codes may repeat: the backup from which this cluster was restored has no secret of codes, and the earlier cluster may have issued codes of this name later; " +
				"choose a name of which it issued no codes, and set force_format",
		}
	}
	secret := make([]byte, len(fsm.CodeSecret{}))
	_, _ = rand.Read(secret) // never fails
	return secret, nil
}

// checkDeleted refuses a new sequence whose texts may repeat those of earlier sequences of its name. It returns the generation of the
// deleted one, 0 if there is none.
func (m *Member) checkDeleted(name string, format *sequence.Format) (generation uint64, err error) {
	var tomb fsm.Sequence
	var deleted bool
	m.fsm.View(func(s *fsm.State) { tomb, deleted = s.DeletedSequence(name) })
	if deleted && !tomb.Frozen && m.formatsUnknown(tomb) {
		return tomb.Generation, refuseUnknownFormats(name)
	}
	why := "its format is not remembered"
	if !tomb.Forgotten || codesOf(format) == nil {
		old := alike(tomb, format)
		if old == nil {
			return tomb.Generation, nil
		}
		why = fmt.Sprintf("its format %q can write a number alike", old.Format)
	}
	return tomb.Generation, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WOULD_REPEAT, Detail: fmt.Sprintf(
		"sequence %q may repeat texts of the deleted sequence of that name: %s; choose another format or name, or set force_format if repeated texts do no harm", name, why)}
}

// alike returns an earlier format of a sequence that can write one number as the format writes another; nil if there is none. A format
// that this program does not know may do so.
func alike(s fsm.Sequence, format *sequence.Format) *fsm.Written {
	return alikeAmong(s, s.Formats(), format)
}

// alikeAmong does so among some formats of the sequence.
func alikeAmong(s fsm.Sequence, earlier []fsm.Written, format *sequence.Format) *fsm.Written {
	for _, w := range earlier {
		if f, err := earlierFormat(s, w); err != nil || repeats(s, f, format) {
			return &w
		}
	}
	return nil
}

// repeats reports whether a format can write one number as an earlier format of the sequence wrote another. If this cluster never had
// codes of the name, the earlier format is one that an operator stated after a restore, and its codes may have another key.
func repeats(s fsm.Sequence, earlier, format *sequence.Format) bool {
	return sequence.Overlap(earlier, format) || !s.Coded && codesOf(earlier) != nil && codesOf(format) != nil
}

// formatsUnknown reports whether the earlier cluster may have given a sequence, or a deleted one, formats after the backup that this
// cluster does not know.
func (m *Member) formatsUnknown(s fsm.Sequence) bool {
	return m.fsm.Restored() != nil && !s.FormatsStated
}

// refuseUnknownFormats refuses a format of a sequence while [Member.formatsUnknown].
func refuseUnknownFormats(name string) *fsm.Refused {
	return &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WOULD_REPEAT, Detail: fmt.Sprintf(
		"sequence %q may repeat texts: the cluster from before the restore may have given it formats after the backup; "+
			"state them with \"snowraft seq resume\" and --formats-kept or --format-was, or set force_format if repeated texts do no harm", name)}
}

// earlierFormat returns an earlier format of a sequence, without the key of its codes.
func earlierFormat(s fsm.Sequence, w fsm.Written) (*sequence.Format, error) {
	if w.Format == "" {
		return nil, nil
	}
	f, err := sequence.Calendar{YearStarts: sequence.YearStart(w.YearStarts)}.ParseFormat(w.Format) //nolint:gosec // the state machine has checked it
	if err != nil {
		return nil, err
	}
	return f.For(s.Spec.GetName())
}
