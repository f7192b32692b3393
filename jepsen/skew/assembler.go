//go:build linux && amd64

package skew

import (
	"encoding/binary"
	"fmt"
	"math"
)

// assembler builds machine code. Jumps and calls name their destinations, which may
// be defined later; link fills in the distances.
type assembler struct {
	base   uint64 // address of code[0]
	code   []byte
	labels map[string]uint64 // addresses
	refs   []reference
}

// reference is a place in the code that holds the distance to a label.
type reference struct {
	label string
	at    int // index into the code
	size  int // 1 or 4 bytes; the distance counts from the end of these bytes
}

func newAssembler(base uint64) *assembler {
	return &assembler{base: base, labels: make(map[string]uint64)}
}

// op emits the bytes of an instruction, or of an instruction without its operand.
func (a *assembler) op(b ...byte) { a.code = append(a.code, b...) }

// imm32 emits a constant of 4 bytes.
func (a *assembler) imm32(v uint32) { a.code = binary.LittleEndian.AppendUint32(a.code, v) }

// label names the address of the next instruction.
func (a *assembler) label(name string) { a.labels[name] = a.base + uint64(len(a.code)) }

// alignTo pads the code with int3, which kills a process that executes it, to a multiple of n bytes.
func (a *assembler) alignTo(n int) {
	for len(a.code)%n != 0 {
		a.op(0xcc)
	}
}

// rel8 and rel32 emit the distance from the next instruction to a label.
func (a *assembler) rel8(label string)  { a.rel(label, 1) }
func (a *assembler) rel32(label string) { a.rel(label, 4) }

func (a *assembler) rel(label string, size int) {
	a.refs = append(a.refs, reference{label: label, at: len(a.code), size: size})
	a.code = append(a.code, make([]byte, size)...)
}

// link fills in the distances and returns the code. It fails if a label is missing or
// too far away.
func (a *assembler) link() ([]byte, error) {
	for _, r := range a.refs {
		to, ok := a.labels[r.label]
		if !ok {
			return nil, fmt.Errorf("machine code: label %s is not defined", r.label)
		}
		distance := int64(to - (a.base + uint64(r.at+r.size)))
		switch {
		case r.size == 1 && distance == int64(int8(distance)):
			a.code[r.at] = byte(distance)
		case r.size == 4 && distance >= math.MinInt32 && distance <= math.MaxInt32:
			binary.LittleEndian.PutUint32(a.code[r.at:], uint32(distance))
		default:
			return nil, fmt.Errorf("machine code: label %s is too far away, %d bytes", r.label, distance)
		}
	}
	return a.code, nil
}
