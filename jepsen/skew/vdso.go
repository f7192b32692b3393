//go:build linux && amd64

package skew

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// maxImage exceeds the size of every known vDSO, in bytes.
const maxImage = 64 << 10

// vdso describes the image of a vDSO. All integers are offsets into the image.
type vdso struct {
	functions map[string]uint64   // starts of the functions to replace
	values    map[string][]uint64 // places in the symbol table that hold these starts, including those of aliases
	free      uint64              // start of the space that programs do not use
	end       uint64              // end of the image and of that space
}

// patch is a change of an image: bytes to write at an offset.
type patch struct {
	at    uint64
	bytes []byte
}

// loaded returns the end of the only loadable segment. Linkers and the Go runtime do
// not read the image after that end.
func loaded(f *elf.File) (uint64, error) {
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_DYN {
		return 0, fmt.Errorf("vDSO of type %v, %v, %v: expected a shared object for 64-bit amd64", f.Machine, f.Class, f.Type)
	}
	var load *elf.Prog
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if load != nil || p.Off != 0 || p.Vaddr != 0 || p.Filesz != p.Memsz || p.Memsz == 0 || p.Memsz > maxImage {
			return 0, errors.New("vDSO has an unknown layout of segments")
		}
		load = p
	}
	if load == nil {
		return 0, errors.New("vDSO has no loadable segment")
	}
	return load.Memsz, nil
}

// parse returns the functions to replace and the free space of a whole image.
func parse(image []byte) (*vdso, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("vDSO is not an ELF image: %w", err)
	}
	free, err := loaded(f)
	if err != nil {
		return nil, err
	}
	if free > uint64(len(image)) {
		return nil, fmt.Errorf("vDSO has %d bytes; its segment has %d", len(image), free)
	}
	table := f.SectionByType(elf.SHT_DYNSYM)
	if table == nil {
		return nil, errors.New("vDSO has no symbol table")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the vDSO's symbol table: %w", err)
	}
	v := &vdso{functions: make(map[string]uint64), values: make(map[string][]uint64), free: free, end: uint64(len(image))}
	for _, s := range symbols {
		switch s.Name {
		case symGettime, symOfDay, symTime:
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0 || s.Value >= free {
				return nil, fmt.Errorf("symbol %s of the vDSO: expected a function in the loaded segment", s.Name)
			}
			v.functions[s.Name] = s.Value
		}
	}
	if v.functions[symGettime] == 0 {
		return nil, fmt.Errorf("vDSO has no symbol %s", symGettime)
	}
	for name, value := range v.functions {
		for i, s := range symbols { // includes the aliases without __vdso_
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value != value {
				continue
			}
			// The list omits the first symbol, which is null.
			at := table.Offset + uint64(i+1)*elf.Sym64Size + 8
			if at < table.Offset || at > free-8 || binary.LittleEndian.Uint64(image[at:]) != value {
				return nil, errors.New("vDSO's symbol table is not in the loaded segment")
			}
			v.values[name] = append(v.values[name], at)
		}
	}
	return v, nil
}

// replace returns the patches for an image that is mapped at base, and the address of
// the cells in the patched image.
func (v *vdso) replace(base uint64) ([]patch, uint64, error) {
	originals := make(map[string]uint64)
	for name, at := range v.functions {
		originals[name] = base + at
	}
	// The first assembly returns the size, which does not depend on the address.
	s, err := assemble(base, originals)
	if err != nil {
		return nil, 0, err
	}
	size := (uint64(len(s.bytes)) + cellsSize - 1) / cellsSize * cellsSize
	// The stub goes to the very end of the image: the section headers, which debuggers
	// read, follow the loaded segment.
	if v.end < size || v.end-size < v.free {
		return nil, 0, fmt.Errorf("vDSO has %d free bytes; the replacements need %d", v.end-v.free, size)
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
