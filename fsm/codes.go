package fsm

import (
	"fmt"
	"math"
	"math/bits"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// CodeSecret is the secret from which the keys of all codes in the cluster are derived. It belongs to the state, and
// nothing prints it.
type CodeSecret [codeSecretBytes]byte

const codeSecretBytes = 32

// String implements fmt.Stringer.
func (CodeSecret) String() string { return "redacted" }

// GoString implements fmt.GoStringer.
func (s CodeSecret) GoString() string { return s.String() }

// code describes the codes of a name; zero if the name never had any. A record keeps it in all changes, and in its
// deletion: with the name and the secret of the cluster, it decides which text a number has. So one name never writes
// two numbers as one code.
type code struct{ alphabet, length uint8 }

// codeAlphabets holds the name and the radix of each alphabet, and the number of characters that 10^6 codes need.
var codeAlphabets = map[commandv1.CodeAlphabet]struct {
	name  string
	radix uint64
	least uint32
}{
	commandv1.CodeAlphabet_CODE_ALPHABET_DIGITS: {"digits", 10, 6},
	commandv1.CodeAlphabet_CODE_ALPHABET_BASE32: {"base32", 32, 4},
	commandv1.CodeAlphabet_CODE_ALPHABET_BASE36: {"base36", 36, 4},
	commandv1.CodeAlphabet_CODE_ALPHABET_BASE58: {"base58", 58, 4},
}

const maxCodeLength = 20

// newCode returns the code of a message, which may be absent.
func newCode(m *commandv1.Code) (code, *Refused) {
	if m == nil {
		return code{}, nil
	}
	a, ok := codeAlphabets[m.GetAlphabet()]
	if !ok || m.GetLength() < a.least || m.GetLength() > maxCodeLength {
		return code{}, invalid("codes of %d characters of the alphabet %v: expected %d to %d characters of a known alphabet",
			m.GetLength(), m.GetAlphabet(), a.least, maxCodeLength)
	}
	return code{uint8(m.GetAlphabet()), uint8(m.GetLength())}, nil
}

// message is the inverse of newCode.
func (c code) message() *commandv1.Code {
	if c == (code{}) {
		return nil
	}
	return &commandv1.Code{Alphabet: commandv1.CodeAlphabet(c.alphabet), Length: uint32(c.length)}
}

// String returns the code as it is in formats, such as base32:8.
func (c code) String() string {
	return fmt.Sprintf("%s:%d", codeAlphabets[commandv1.CodeAlphabet(c.alphabet)].name, c.length)
}

// max returns the greatest number that has a code.
func (c code) max() int64 {
	n := uint64(1)
	for range c.length {
		over, product := bits.Mul64(n, codeAlphabets[commandv1.CodeAlphabet(c.alphabet)].radix)
		if over != 0 || product > math.MaxInt64 {
			return math.MaxInt64
		}
		n = product
	}
	return int64(n - 1)
}

// checkNumbers refuses codes unless all numbers from low to high have one.
func (c code) checkNumbers(low, high int64) *Refused {
	if c == (code{}) || low >= 0 && high <= c.max() {
		return nil
	}
	return invalid("numbers from %d to %d: the codes %v are for numbers from 0 to %d; set the minimum and the maximum accordingly", low, high, c, c.max())
}

// keep returns the codes of a name that has c, or none, after a change of its specification.
func (c code) keep(name string, spec *sequenceSpec) (code, *Refused) {
	switch {
	case spec.code == (code{}):
		return c, nil
	case c != (code{}) && c != spec.code:
		return c, invalid("sequence %q has the codes %v permanently, not %v, because its earlier codes could not be decoded otherwise; keep its codes, or use another sequence",
			name, c, spec.code)
	}
	return spec.code, nil
}

// checkCodeSecret refuses codes of a command with a secret, unless the state has a secret.
func (s *State) checkCodeSecret(c code, secret []byte) *Refused {
	switch {
	case c == (code{}) && len(secret) > 0:
		return invalid("code_secret: cannot be used without codes")
	case c != (code{}) && s.codeSecret == nil && len(secret) != codeSecretBytes:
		return invalid("code_secret of %d bytes: expected %d bytes", len(secret), codeSecretBytes)
	}
	return nil
}

// keepCodeSecret keeps the secret of the first accepted command with codes.
func (s *State) keepCodeSecret(c code, secret []byte) {
	if c != (code{}) && s.codeSecret == nil {
		s.codeSecret = new(CodeSecret(secret))
	}
}

// CodeSecret returns the secret of codes; ok is false before the first sequence with codes.
func (s *State) CodeSecret() (secret CodeSecret, ok bool) {
	if s.codeSecret == nil {
		return CodeSecret{}, false
	}
	return *s.codeSecret, true
}

// DeletedSequence returns the record of a deleted sequence of that name.
func (s *State) DeletedSequence(name string) (Sequence, bool) {
	q, ok := s.sequences.deleted.Get(name)
	if !ok {
		return Sequence{}, false
	}
	v := q.view()
	v.Deleted, v.Forgotten = true, q.used.some && len(q.earlier()) == 0
	return v, true
}
