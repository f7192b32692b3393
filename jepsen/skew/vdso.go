//go:build linux && amd64

package skew

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// maxImage is more bytes than any vDSO takes.
const maxImage = 64 << 10

// vdso is what there is to know of a vDSO's image. All numbers are offsets into it.
type vdso struct {
	functions map[string]uint64   // where those that are replaced begin
	values    map[string][]uint64 // where the symbol table says so, aliases included
	free      uint64              // nothing that a program uses from here to the end
	end       uint64
}

// patch is bytes that go into an image.
type patch struct {
	at    uint64
	bytes []byte
}

// loaded is where the only loadable segment ends. Linkers and the Go runtime look at
// nothing behind it.
func loaded(f *elf.File) (uint64, error) {
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_DYN {
		return 0, fmt.Errorf("the vDSO is for %v (%v, %v): only 64-bit programs for amd64 can have a clock of their own", f.Machine, f.Class, f.Type)
	}
	var load *elf.Prog
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if load != nil || p.Off != 0 || p.Vaddr != 0 || p.Filesz != p.Memsz || p.Memsz == 0 || p.Memsz > maxImage {
			return 0, errors.New("the vDSO's segments are not laid out as in any kernel that is known here")
		}
		load = p
	}
	if load == nil {
		return 0, errors.New("the vDSO has no loadable segment")
	}
	return load.Memsz, nil
}

// parse finds what is to be replaced in a whole image.
func parse(image []byte) (*vdso, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("the vDSO is no ELF image: %w", err)
	}
	free, err := loaded(f)
	if err != nil {
		return nil, err
	}
	if free > uint64(len(image)) {
		return nil, fmt.Errorf("the vDSO ends after %d bytes, it should have %d", len(image), free)
	}
	table := f.SectionByType(elf.SHT_DYNSYM)
	if table == nil {
		return nil, errors.New("the vDSO has no symbol table")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("the vDSO's symbol table: %w", err)
	}
	v := &vdso{functions: make(map[string]uint64), values: make(map[string][]uint64), free: free, end: uint64(len(image))}
	for _, s := range symbols {
		switch s.Name {
		case symGettime, symOfDay, symTime:
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0 || s.Value >= free {
				return nil, fmt.Errorf("the vDSO's %s is no function of it", s.Name)
			}
			v.functions[s.Name] = s.Value
		}
	}
	if v.functions[symGettime] == 0 {
		return nil, fmt.Errorf("the vDSO has no %s", symGettime)
	}
	for name, value := range v.functions {
		for i, s := range symbols { // among them the aliases without __vdso_, which are the same functions
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value != value {
				continue
			}
			// The first symbol, which is void, is not in the list.
			at := table.Offset + uint64(i+1)*elf.Sym64Size + 8
			if at < table.Offset || at > free-8 || binary.LittleEndian.Uint64(image[at:]) != value {
				return nil, errors.New("the vDSO's symbol table is not where it says")
			}
			v.values[name] = append(v.values[name], at)
		}
	}
	return v, nil
}

// replace says what to write into the image that is mapped at base, and at which address
// the cells are then.
func (v *vdso) replace(base uint64) ([]patch, uint64, error) {
	originals := make(map[string]uint64)
	for name, at := range v.functions {
		originals[name] = base + at
	}
	// Once to learn how long it is, which does not depend on where it is.
	s, err := assemble(base, originals)
	if err != nil {
		return nil, 0, err
	}
	size := (uint64(len(s.bytes)) + cellsSize - 1) / cellsSize * cellsSize
	// As far back as there is space: after what is loaded come the section headers, which
	// debuggers like to read.
	if v.end < size || v.end-size < v.free {
		return nil, 0, fmt.Errorf("the vDSO has %d bytes to spare, its replacement takes %d", v.end-v.free, size)
	}
	at := v.end - size
	if s, err = assemble(base+at, originals); err != nil {
		return nil, 0, err
	}
	patches := []patch{{at, s.bytes}}
	for name, places := range v.values {
		for _, place := range places {
			patches = append(patches, patch{place, binary.LittleEndian.AppendUint64(nil, s.entry[name]-base)})
		}
	}
	return patches, base + at, nil
}
