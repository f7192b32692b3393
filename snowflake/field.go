package snowflake

import (
	"fmt"
	"strconv"
	"strings"
)

// Field is one of the parts of an ID. The zero Field is not a valid field.
type Field uint8

const (
	// FieldTime counts ticks since the layout's epoch.
	FieldTime Field = iota + 1
	// FieldDatacenter distinguishes clusters that must never issue the same ID. Discord calls this field
	// worker.
	FieldDatacenter
	// FieldWorker distinguishes the issuers of one cluster. Other systems call it machine, shard or process.
	FieldWorker
	// FieldSequence distinguishes the IDs of one worker within one tick.
	FieldSequence
)

const (
	idBits        = 64 // an ID is a uint64
	issuedBits    = 63 // an issued ID is also positive as an int64
	maxTimeBits   = 62 // the number of ticks of a lease must fit an int64
	maxFieldBits  = 63 // a tick must fit an int64, and a capacity a uint64
	fieldNameList = "time, datacenter, worker or sequence"
)

var fieldNames = [...]string{FieldTime: "time", FieldDatacenter: "datacenter", FieldWorker: "worker", FieldSequence: "sequence"}

// String returns the field's name in lower case, as [ParseField] reads it.
func (f Field) String() string {
	if f == 0 || int(f) >= len(fieldNames) {
		return "Field(" + strconv.Itoa(int(f)) + ")"
	}
	return fieldNames[f]
}

// ParseField returns the field of that name: "time", "datacenter", "worker" or
// "sequence". Any other text is an [ErrSyntax].
func ParseField(s string) (Field, error) {
	f, ok := fieldNamed(s)
	if !ok {
		return 0, fmt.Errorf("%w: unknown field %.64q, expected %s", ErrSyntax, s, fieldNameList)
	}
	return f, nil
}

func fieldNamed(s string) (Field, bool) {
	for f := FieldTime; f <= FieldSequence; f++ {
		if fieldNames[f] == s {
			return f, true
		}
	}
	return 0, false
}

// FieldBits is a field of a layout and its width.
type FieldBits struct {
	Field Field
	Bits  uint8 // 1 to 63
}

// ParseFields parses the fields of a layout from the highest bits to the lowest, such as
// "time:41,worker:10,sequence:12". Each list has exactly one text: no spaces, signs or leading zeros. [New]
// accepts every result as [Spec.Fields]: each field appears at most once, time is present, each is 1 to 63 bits
// wide, and together they have at most 64 bits. The error is an [ErrInvalidLayout].
func ParseFields(s string) ([]FieldBits, error) {
	fields := make([]FieldBits, 0, len(fieldNames))
	for part := range strings.SplitSeq(s, ",") {
		if len(fields) == int(FieldSequence) {
			return nil, fmt.Errorf("%w: more than %d fields; each may appear only once", ErrInvalidLayout, len(fields))
		}
		name, digits, found := strings.Cut(part, ":")
		if !found {
			return nil, fmt.Errorf("%w: %.64q: expected a field and its width, such as \"worker:10\"", ErrInvalidLayout, part)
		}
		field, ok := fieldNamed(name)
		if !ok {
			return nil, fmt.Errorf("%w: unknown field %.64q, expected %s", ErrInvalidLayout, name, fieldNameList)
		}
		width, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || digits[0] == '0' {
			return nil, fmt.Errorf("%w: %.64q is not a width for %s, expected 1 to %d bits in decimal", ErrInvalidLayout, digits, field, maxFieldBits)
		}
		fields = append(fields, FieldBits{Field: field, Bits: uint8(width)})
	}
	if err := checkFields(fields); err != nil {
		return nil, err
	}
	return fields, nil
}

// FormatFields writes fields in the form that [ParseFields] reads.
func FormatFields(fields []FieldBits) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f.Field.String())
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(int(f.Bits)))
	}
	return b.String()
}

func checkFields(fields []FieldBits) error {
	var seen [len(fieldNames)]bool
	total := 0
	for _, f := range fields {
		if f.Field < FieldTime || f.Field > FieldSequence {
			return fmt.Errorf("%w: unknown %v, expected %s", ErrInvalidLayout, f.Field, fieldNameList)
		}
		if seen[f.Field] {
			return fmt.Errorf("%w: field %v appears more than once; remove one", ErrInvalidLayout, f.Field)
		}
		if f.Bits < 1 || f.Bits > maxFieldBits {
			return fmt.Errorf("%w: field %v has %d bits, expected 1 to %d", ErrInvalidLayout, f.Field, f.Bits, maxFieldBits)
		}
		seen[f.Field] = true
		total += int(f.Bits)
	}
	if !seen[FieldTime] {
		return fmt.Errorf("%w: no time field in %q; add one, such as time:41", ErrInvalidLayout, FormatFields(fields))
	}
	if total > idBits {
		return fmt.Errorf("%w: %d bits in %q, expected at most %d", ErrInvalidLayout, total, FormatFields(fields), idBits)
	}
	return nil
}

// bitsOf returns the width of field f, 0 if it is not among fields.
func bitsOf(fields []FieldBits, f Field) uint8 {
	for _, have := range fields {
		if have.Field == f {
			return have.Bits
		}
	}
	return 0
}
