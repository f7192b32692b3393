package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	digits = commandv1.CodeAlphabet_CODE_ALPHABET_DIGITS
	base32 = commandv1.CodeAlphabet_CODE_ALPHABET_BASE32
	base36 = commandv1.CodeAlphabet_CODE_ALPHABET_BASE36
	base58 = commandv1.CodeAlphabet_CODE_ALPHABET_BASE58
)

// coded gives a creation or an update codes, and a secret made of one letter; none if it is 0.
func coded(cmd *commandv1.Command, alphabet commandv1.CodeAlphabet, length uint32, letter byte) *commandv1.Command {
	var secret []byte
	if letter != 0 {
		secret = bytes.Repeat([]byte{letter}, codeSecretBytes)
	}
	code := &commandv1.Code{Alphabet: alphabet, Length: length}
	if c := cmd.GetCreateSequence(); c != nil {
		c.Spec, c.CodeSecret = proto.CloneOf(c.GetSpec()), secret
		c.Spec.Code = code
	} else {
		c := cmd.GetUpdateSequence()
		c.Spec, c.CodeSecret = proto.CloneOf(c.GetSpec()), secret
		c.Spec.Code = code
	}
	return cmd
}

// vouchers returns the specification of a sequence with a million codes.
func vouchers(name string) *commandv1.SequenceSpec {
	return plain(name, numbers(0, 1, 0, 999_999), func(s *commandv1.SequenceSpec) { s.Format = "V-{code:digits:6}" })
}

func newCodeLog(t *testing.T) *log {
	l := newLog(t)
	l.must(raise(DocumentVersion))
	return l
}

// hasSecret expects the secret of one letter.
func (l *log) hasSecret(letter byte) {
	l.t.Helper()
	if got, ok := l.CodeSecret(); !ok || got != CodeSecret(bytes.Repeat([]byte{letter}, codeSecretBytes)) {
		l.t.Fatalf("the secret of codes is %x, %v, want %q", got[:], ok, letter)
	}
}

func TestCodesBelongToTheName(t *testing.T) {
	l := newCodeLog(t)
	l.must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	l.hasSecret('a')
	l.take("v", 10, 0)
	l.must(coded(create(vouchers("other"), 0), base58, 20, 'b'))
	l.hasSecret('a')
	l.survives()

	update := func(edit func(*commandv1.SequenceSpec)) *commandv1.Command {
		spec := l.seq("v").Spec
		spec.Code = nil
		edit(spec)
		return change(spec, l.seq("v").Generation)
	}
	l.refused(invalidArgument, coded(update(func(*commandv1.SequenceSpec) {}), digits, 7, 0))
	l.refused(invalidArgument, coded(forced(update(func(*commandv1.SequenceSpec) {})), base32, 6, 'c'))
	l.must(coded(update(func(s *commandv1.SequenceSpec) { s.Format = "W-{code:digits:6}" }), digits, 6, 'c'))
	l.must(update(func(s *commandv1.SequenceSpec) { s.Format, s.Max = "N-{seq}", math.MaxInt64 })) // without codes, numbers have no end
	l.refused(invalidArgument, coded(update(func(s *commandv1.SequenceSpec) { s.Format = "{code:base32:6}" }), base32, 6, 0))
	l.refused(invalidArgument, coded(update(func(s *commandv1.SequenceSpec) { s.Format = "{code:digits:6}" }), digits, 6, 0))
	l.must(coded(update(func(s *commandv1.SequenceSpec) { s.Format, s.Max = "X-{code:digits:6}", 999_999 }), digits, 6, 0))

	l.must(remove("v"))
	l.survives()
	if tomb, ok := l.DeletedSequence("v"); !ok || !tomb.Coded || !tomb.Deleted || !slices.Contains(tomb.Formats(), Written{Format: "X-{code:digits:6}"}) {
		t.Errorf("%+v, %v", tomb, ok)
	}
	beyond := vouchers("v")
	beyond.Start = 10
	l.refused(invalidArgument, coded(create(beyond, 0), digits, 8, 0))
	l.refused(invalidArgument, coded(forced(create(beyond, 0)), digits, 8, 0))
	l.refused(wouldRepeats, coded(create(vouchers("v"), 0), digits, 6, 0))
	l.must(coded(create(beyond, 0), digits, 6, 'd'))
	l.hasSecret('a')
	l.survives()
}

func TestNumbersOfCodesEndWithTheCodes(t *testing.T) {
	l := newCodeLog(t)
	for name, spec := range map[string]*commandv1.SequenceSpec{
		"one beyond": plain("v", numbers(0, 1, 0, 1_000_000)), "no end": plain("v"), "negative": plain("v", numbers(0, 1, -1, 999)),
	} {
		l.refused(invalidArgument, coded(create(spec, 0), digits, 6, 'a'))
		l.must(create(spec, 0))
		l.refused(invalidArgument, coded(change(spec, l.seq("v").Generation), digits, 6, 'a'))
		l.must(remove("v"))
		if _, ok := l.CodeSecret(); ok {
			t.Fatalf("%s: a refused command left its secret", name)
		}
	}
	l.must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	l.gives("v", 2_000_000, 0, 0, 1_000_000)
	l.empty("v", 0)
	for c, most := range map[*commandv1.Code]int64{
		{Alphabet: digits, Length: 18}: 999_999_999_999_999_999, {Alphabet: digits, Length: 19}: math.MaxInt64,
		{Alphabet: base32, Length: 4}: 1<<20 - 1, {Alphabet: base32, Length: 12}: 1<<60 - 1, {Alphabet: base32, Length: 20}: math.MaxInt64,
		{Alphabet: base36, Length: 4}: 1_679_615, {Alphabet: base58, Length: 4}: 11_316_495,
	} {
		if code, refused := newCode(c); refused != nil || code.max() != most {
			t.Errorf("%v: numbers to %d, %v, want %d", c, code.max(), refused, most)
		}
	}
}

func TestWrongCodesAreRefused(t *testing.T) {
	l := newCodeLog(t)
	for _, c := range []*commandv1.Code{
		{}, {Length: 8}, {Alphabet: digits}, {Alphabet: digits, Length: 5}, {Alphabet: base32, Length: 3}, {Alphabet: base36, Length: 3},
		{Alphabet: base58, Length: 3}, {Alphabet: base58, Length: 21}, {Alphabet: 5, Length: 8}, {Alphabet: base32, Length: 1<<32 - 1},
	} {
		cmd := coded(create(plain("v", numbers(0, 1, 0, 9)), 0), c.GetAlphabet(), c.GetLength(), 'a')
		l.refused(invalidArgument, cmd)
	}
	cmd := create(vouchers("v"), 0)
	l.refused(invalidArgument, coded(cmd, digits, 6, 0)) // no secret
	cmd.GetCreateSequence().CodeSecret = make([]byte, 31)
	l.refused(invalidArgument, cmd)
	cmd.GetCreateSequence().Spec.Code, cmd.GetCreateSequence().CodeSecret = nil, make([]byte, 32)
	l.refused(invalidArgument, cmd)
	if _, ok := l.CodeSecret(); ok {
		t.Error("a refused command left its secret")
	}
}

func TestCodesNeedTheirVersion(t *testing.T) {
	l := newLog(t)
	l.must(raise(DocumentVersion - 1))
	for _, cmd := range []*commandv1.Command{
		coded(create(vouchers("v"), 0), digits, 6, 'a'), coded(change(vouchers("v"), 1), digits, 6, 'a'),
	} {
		if got := MinVersion(cmd); got != DocumentVersion {
			t.Errorf("MinVersion(%v) = %d", cmd, got)
		}
		cmd.Version = MinVersion(cmd)
		if r := l.Apply(100, 1, cmd); reasonOf(r) != commandv1.Refusal_REFUSAL_VERSION_TOO_LOW {
			t.Errorf("%v", r.Err)
		}
	}
}

func TestRestoreKeepsCodes(t *testing.T) {
	l := newCodeLog(t)
	l.must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	l.take("v", 10, 0)
	l.restore(nil)
	l.hasSecret('a')
	l.survives()
	if q := l.seq("v"); !q.Coded || !q.Frozen {
		t.Errorf("%+v", q)
	}
}

func TestMergedCodes(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(vouchers("plain"), 0))
	b := l.branches()
	b[0].must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	b[0].must(coded(change(vouchers("plain"), b[0].seq("plain").Generation), digits, 6, 0))
	merged(t, b, func(t *testing.T, l *log) {
		l.hasSecret('a')
		if !l.seq("v").Coded || !l.seq("plain").Coded {
			t.Errorf("%+v, %+v", l.seq("v"), l.seq("plain"))
		}
	})
	b[1].must(coded(create(vouchers("v"), 0), digits, 6, 'b'))
	if err := mustRead(t, snapshotBytes(t, b[0].State)).Merge(mustRead(t, snapshotBytes(t, b[1].State))); err == nil || !strings.Contains(err.Error(), "another secret") {
		t.Errorf("two secrets: %v", err)
	}
	b = l.branches()
	b[0].must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	b[1].must(coded(create(vouchers("v"), 0), base32, 6, 'a'))
	if err := mustRead(t, snapshotBytes(t, b[0].State)).Merge(mustRead(t, snapshotBytes(t, b[1].State))); err == nil || !strings.Contains(err.Error(), "digits:6") {
		t.Errorf("two codes: %v", err)
	}
}

func TestSnapshotsOfCodes(t *testing.T) {
	l := newCodeLog(t)
	l.must(coded(create(vouchers("v"), 0), digits, 6, 'a'))
	l.must(coded(create(vouchers("x"), 0), digits, 6, 0))
	l.take("x", 1, 0)
	l.must(remove("x"))
	l.survives()
	digest := l.Digest()
	for name, edit := range map[string]func(*State){
		"secret": func(s *State) { s.codeSecret[0]++ },
		"code": func(s *State) {
			q, _ := s.sequences.live.Get("v")
			q.code.length++
		},
	} {
		s := mustRead(t, snapshotBytes(t, l.State))
		if edit(s); s.Digest() == digest {
			t.Errorf("the digest does not cover the %s", name)
		}
	}
	for name, edit := range map[string]func(r []*commandv1.SnapshotRecord){
		"short secret":             func(r []*commandv1.SnapshotRecord) { r[0].GetMeta().CodeSecret = make([]byte, 31) },
		"no secret":                func(r []*commandv1.SnapshotRecord) { r[0].GetMeta().CodeSecret = nil },
		"unknown codes":            func(r []*commandv1.SnapshotRecord) { r[2].GetSequence().Code.Length = 5 },
		"codes of another name":    func(r []*commandv1.SnapshotRecord) { r[1].GetSequence().Code.Length = 7 },
		"lost codes":               func(r []*commandv1.SnapshotRecord) { r[1].GetSequence().Code = nil },
		"a format of a plain name": func(r []*commandv1.SnapshotRecord) { r[2].GetSequence().Code = nil },
	} {
		data := reseal(t, snapshotBytes(t, l.State), func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord { edit(r); return r })
		if s, err := ReadState(bytes.NewReader(data), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}

func TestCodeSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	secret := CodeSecret(bytes.Repeat([]byte("s"), codeSecretBytes))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, struct{ S any }{secret}); strings.Contains(text, "ss") || strings.Contains(text, "115") || strings.Contains(text, "73") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
