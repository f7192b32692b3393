//go:build linux && amd64

package skew

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// Symbols of the replaced functions of the vDSO.
const (
	symGettime = "__vdso_clock_gettime"
	symOfDay   = "__vdso_gettimeofday"
	symTime    = "__vdso_time"
)

// The cells hold the offset in two slots. The generation's lowest bit selects the slot in
// use. A write from outside is atomic only per byte: the kernel copies with "rep movsb".
// Therefore Set first writes the unused slot, then the generation, which is one byte.
const (
	slotSize   = 16           // bytes: seconds, then nanoseconds in [0, second), 8 each
	generation = 2 * slotSize // offset of the generation
	cellsSize  = 64           // one cache line, so that a write to the cells does not touch the code's
)

const second = int64(time.Second)

// stub is the code for a process: the cells, then the functions, assembled for one address.
type stub struct {
	bytes []byte
	entry map[string]uint64 // address of each function's replacement
}

// assemble returns the stub for the address at, which is a multiple of cellsSize. originals
// holds the addresses of the kernel's functions; a missing function gets no replacement.
//
// The code follows C's calling convention: arguments in rdi and rsi, result in rax. It
// preserves rbx, rbp and r12 to r15. rsp is a multiple of 16 before each call, and 8 less
// than a multiple at an entry.
func assemble(at uint64, originals map[string]uint64) (stub, error) {
	a := newAssembler(at)
	a.label("cells")
	a.op(make([]byte, cellsSize)...)
	for name, address := range originals {
		a.labels["original "+name] = address
	}
	for _, f := range []struct {
		name string
		emit func(*assembler)
	}{{symGettime, emitGettime}, {symOfDay, emitOfDay}, {symTime, emitTime}} {
		if _, ok := originals[f.name]; ok {
			a.alignTo(16)
			a.label(f.name)
			f.emit(a)
		}
	}
	code, err := a.link()
	if err != nil {
		return stub{}, err
	}
	s := stub{bytes: code, entry: make(map[string]uint64)}
	for name := range originals {
		s.entry[name] = a.labels[name]
	}
	return s, nil
}

// emitGettime emits int clock_gettime(clockid_t edi, struct timespec *rsi).
func emitGettime(a *assembler) {
	a.op(0x57)                   // push rdi
	a.op(0x56)                   // push rsi
	a.op(0x48, 0x83, 0xec, 0x08) // sub rsp, 8
	a.op(0xe8)                   // call the kernel's function
	a.rel32("original " + symGettime)
	a.op(0x48, 0x83, 0xc4, 0x08) // add rsp, 8
	a.op(0x5e)                   // pop rsi
	a.op(0x5f)                   // pop rdi
	a.op(0x85, 0xc0)             // test eax, eax
	a.op(0x75)                   // jnz: the call failed
	a.rel8("gettime done")
	a.op(0x85, 0xff) // test edi, edi: CLOCK_REALTIME is 0
	a.op(0x74)       // jz
	a.rel8("gettime add")
	a.op(0x83, 0xff, unix.CLOCK_REALTIME_COARSE) // cmp edi, CLOCK_REALTIME_COARSE
	a.op(0x75)                                   // jne: an unchanged clock
	a.rel8("gettime done")

	a.label("gettime add")
	a.op(0x48, 0x8d, 0x15) // lea rdx, [rip + cells]
	a.rel32("cells")
	a.label("gettime again")
	a.op(0x0f, 0xb6, 0x4a, generation) // movzx ecx, byte [rdx + generation]
	a.op(0x41, 0x89, 0xc8)             // mov r8d, ecx
	a.op(0x41, 0x83, 0xe0, 0x01)       // and r8d, 1: the slot in use
	a.op(0x41, 0xc1, 0xe0, 0x04)       // shl r8d, 4: times slotSize
	a.op(0x4e, 0x8b, 0x0c, 0x02)       // mov r9, [rdx + r8]: seconds
	a.op(0x4e, 0x8b, 0x54, 0x02, 0x08) // mov r10, [rdx + r8 + 8]: nanoseconds
	a.op(0x3a, 0x4a, generation)       // cmp cl, [rdx + generation]
	a.op(0x75)                         // jne: the offset changed during the reading
	a.rel8("gettime again")
	a.op(0x4c, 0x03, 0x0e)       // add r9, [rsi]: tv_sec
	a.op(0x4c, 0x03, 0x56, 0x08) // add r10, [rsi + 8]: tv_nsec
	a.op(0x49, 0x81, 0xfa)       // cmp r10, second
	a.imm32(uint32(second))
	a.op(0x7c) // jl
	a.rel8("gettime store")
	a.op(0x49, 0x81, 0xea) // sub r10, second
	a.imm32(uint32(second))
	a.op(0x49, 0xff, 0xc1) // inc r9
	a.label("gettime store")
	a.op(0x4c, 0x89, 0x0e)       // mov [rsi], r9
	a.op(0x4c, 0x89, 0x56, 0x08) // mov [rsi + 8], r10
	a.label("gettime done")
	a.op(0xc3) // ret
}

// emitOfDay emits int gettimeofday(struct timeval *rdi, struct timezone *rsi). The
// kernel's function returns only the time zone. The time comes from the replacement of
// clock_gettime, in microseconds.
func emitOfDay(a *assembler) {
	a.op(0x57)       // push rdi
	a.op(0x31, 0xff) // xor edi, edi: no timeval
	a.op(0xe8)       // call the kernel's function
	a.rel32("original " + symOfDay)
	a.op(0x85, 0xc0) // test eax, eax
	a.op(0x75)       // jnz: the call failed
	a.rel8("ofday done")
	a.op(0x48, 0x8b, 0x34, 0x24) // mov rsi, [rsp]: the timeval, as large as a timespec
	a.op(0x48, 0x85, 0xf6)       // test rsi, rsi
	a.op(0x74)                   // jz: no time requested
	a.rel8("ofday done")
	a.op(0x31, 0xff) // xor edi, edi: CLOCK_REALTIME
	a.op(0xe8)       // call the replacement
	a.rel32(symGettime)
	a.op(0x85, 0xc0) // test eax, eax
	a.op(0x75)       // jnz: the call failed
	a.rel8("ofday done")
	a.op(0x48, 0x8b, 0x34, 0x24) // mov rsi, [rsp]
	a.op(0x48, 0x8b, 0x46, 0x08) // mov rax, [rsi + 8]: nanoseconds
	a.op(0x31, 0xd2)             // xor edx, edx
	a.op(0xb9)                   // mov ecx, 1000
	a.imm32(1000)
	a.op(0x48, 0xf7, 0xf1)       // div rcx
	a.op(0x48, 0x89, 0x46, 0x08) // mov [rsi + 8], rax: microseconds
	a.op(0x31, 0xc0)             // xor eax, eax
	a.label("ofday done")
	a.op(0x59) // pop rcx: drops the saved rdi
	a.op(0xc3) // ret
}

// emitTime emits time_t time(time_t *rdi), which returns the coarse clock's seconds, as the kernel's function does.
func emitTime(a *assembler) {
	a.op(0x57)                          // push rdi
	a.op(0x48, 0x83, 0xec, 0x10)        // sub rsp, 16: a timespec
	a.op(0xbf)                          // mov edi, CLOCK_REALTIME_COARSE
	a.imm32(unix.CLOCK_REALTIME_COARSE) //
	a.op(0x48, 0x89, 0xe6)              // mov rsi, rsp
	a.op(0xe8)                          // call the replacement, which cannot fail for this clock
	a.rel32(symGettime)                 //
	a.op(0x48, 0x8b, 0x04, 0x24)        // mov rax, [rsp]: seconds
	a.op(0x48, 0x83, 0xc4, 0x10)        // add rsp, 16
	a.op(0x5f)                          // pop rdi
	a.op(0x48, 0x85, 0xff)              // test rdi, rdi
	a.op(0x74)                          // jz: only the result is requested
	a.rel8("time done")                 //
	a.op(0x48, 0x89, 0x07)              // mov [rdi], rax
	a.label("time done")
	a.op(0xc3) // ret
}

// slot encodes an offset for a slot of the cells.
func slot(offset time.Duration) []byte {
	sec, nsec := int64(offset)/second, int64(offset)%second
	if nsec < 0 {
		sec, nsec = sec-1, nsec+second
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(sec))
	return binary.LittleEndian.AppendUint64(b, uint64(nsec))
}
