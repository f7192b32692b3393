package main

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// program returns the header of an ELF file of a machine with one program header of a type.
func program(machine uint16, kind uint32) []byte {
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	for _, v := range []any{
		uint16(2), machine, uint32(1), uint64(0), uint64(64), uint64(0), uint32(0), // type, machine, version, entry, headers, sections, flags
		uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0), // sizes and numbers
		kind, uint32(4), [6]uint64{}, // the program header
	} {
		_ = binary.Write(&b, binary.LittleEndian, v) // never fails
	}
	return b.Bytes()
}

func TestImageRefusesPrograms(t *testing.T) {
	t.Parallel()
	const amd64, arm64, load, interpreter = 62, 183, 1, 3
	for _, c := range []struct {
		name    string
		program []byte
		want    string // empty: accepted
	}{
		{"static", program(amd64, load), ""},
		{"of another architecture", program(arm64, load), "expected a program for amd64"},
		{"dynamic", program(amd64, interpreter), "CGO_ENABLED=0"},
		{"of another system", []byte("\xcf\xfa\xed\xfe" + strings.Repeat("\x00", 60)), "bad magic number"},
	} {
		err := checkProgram(c.program, "amd64")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("a program %s: %v, want %q", c.name, err, c.want)
		}
	}
}
