package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// machines maps the architectures of images to ELF machines.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkProgram returns an error unless the program is for the architecture and can run in an image without other programs.
func checkProgram(program []byte, arch string) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if file.Machine != machines[arch] {
		return fmt.Errorf("built for %v; expected a program for %s", file.Machine, arch)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("needs a dynamic linker; build it with CGO_ENABLED=0")
		}
	}
	return nil
}
