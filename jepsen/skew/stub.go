//go:build linux && amd64

package skew

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// The functions of the vDSO that are replaced, by the names of their symbols.
const (
	symGettime = "__vdso_clock_gettime"
	symOfDay   = "__vdso_gettimeofday"
	symTime    = "__vdso_time"
)

// The cells hold the offset: two slots of 16 bytes, of which the generation's lowest bit
// tells which one counts. The kernel promises of a write from outside no more than that each byte
// is there or not (it copies by "rep movsb"). So the slot that does not count is
// written first, and then the generation, which is one byte.
const (
	slotSize   = 16 // seconds, then nanoseconds in [0, second), 8 bytes each
	generation = 2 * slotSize
	cellsSize  = 64 // a cache line, so that a write to it is none to the code's
)

const second = int64(time.Second)

// stub is what goes into a process: the cells, then the code, which is where it was
// assembled for.
type stub struct {
	bytes []byte
	entry map[string]uint64 // where the replacement of each function is
}

// assemble makes the stub for the address at, which is a multiple of cellsSize. originals
// are the addresses of the kernel's functions; those that are missing get no replacement.
//
// The code keeps to C's conventions: arguments in rdi and rsi, the result in rax, rbx, rbp
// and r12 to r15 untouched, rsp a multiple of 16 before each call (so 8 beside it at an entry).
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

// emitGettime is int clock_gettime(clockid_t edi, struct timespec *rsi).
func emitGettime(a *assembler) {
	a.op(0x57)                   // push rdi
	a.op(0x56)                   // push rsi
	a.op(0x48, 0x83, 0xec, 0x08) // sub rsp, 8
	a.op(0xe8)                   // call the kernel's
	a.rel32("original " + symGettime)
	a.op(0x48, 0x83, 0xc4, 0x08) // add rsp, 8
	a.op(0x5e)                   // pop rsi
	a.op(0x5f)                   // pop rdi
	a.op(0x85, 0xc0)             // test eax, eax
	a.op(0x75)                   // jnz: it failed
	a.rel8("gettime done")
	a.op(0x85, 0xff) // test edi, edi: CLOCK_REALTIME is 0
	a.op(0x74)       // jz
	a.rel8("gettime add")
	a.op(0x83, 0xff, unix.CLOCK_REALTIME_COARSE) // cmp edi, CLOCK_REALTIME_COARSE
	a.op(0x75)                                   // jne: a clock that stays true
	a.rel8("gettime done")

	a.label("gettime add")
	a.op(0x48, 0x8d, 0x15) // lea rdx, [rip + the cells]
	a.rel32("cells")
	a.label("gettime again")
	a.op(0x0f, 0xb6, 0x4a, generation) // movzx ecx, byte [rdx + generation]
	a.op(0x41, 0x89, 0xc8)             // mov r8d, ecx
	a.op(0x41, 0x83, 0xe0, 0x01)       // and r8d, 1: which slot counts
	a.op(0x41, 0xc1, 0xe0, 0x04)       // shl r8d, 4: times slotSize
	a.op(0x4e, 0x8b, 0x0c, 0x02)       // mov r9, [rdx + r8]: seconds
	a.op(0x4e, 0x8b, 0x54, 0x02, 0x08) // mov r10, [rdx + r8 + 8]: nanoseconds
	a.op(0x3a, 0x4a, generation)       // cmp cl, [rdx + generation]
	a.op(0x75)                         // jne: it was changed meanwhile
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

// emitOfDay is int gettimeofday(struct timeval *rdi, struct timezone *rsi). The kernel's is
// requested the time zone only; the time is our clock_gettime's, in microseconds.
func emitOfDay(a *assembler) {
	a.op(0x57)       // push rdi
	a.op(0x31, 0xff) // xor edi, edi: no timeval
	a.op(0xe8)       // call the kernel's
	a.rel32("original " + symOfDay)
	a.op(0x85, 0xc0) // test eax, eax
	a.op(0x75)       // jnz: it failed
	a.rel8("ofday done")
	a.op(0x48, 0x8b, 0x34, 0x24) // mov rsi, [rsp]: the timeval, as large as a timespec
	a.op(0x48, 0x85, 0xf6)       // test rsi, rsi
	a.op(0x74)                   // jz: none was wanted
	a.rel8("ofday done")
	a.op(0x31, 0xff) // xor edi, edi: CLOCK_REALTIME
	a.op(0xe8)       // call ours
	a.rel32(symGettime)
	a.op(0x85, 0xc0) // test eax, eax
	a.op(0x75)       // jnz: it failed
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
	a.op(0x59) // pop rcx: what was rdi
	a.op(0xc3) // ret
}

// emitTime is time_t time(time_t *rdi): like the kernel's, the coarse clock's seconds.
func emitTime(a *assembler) {
	a.op(0x57)                          // push rdi
	a.op(0x48, 0x83, 0xec, 0x10)        // sub rsp, 16: a timespec
	a.op(0xbf)                          // mov edi, CLOCK_REALTIME_COARSE
	a.imm32(unix.CLOCK_REALTIME_COARSE) //
	a.op(0x48, 0x89, 0xe6)              // mov rsi, rsp
	a.op(0xe8)                          // call ours, which cannot fail for this clock
	a.rel32(symGettime)                 //
	a.op(0x48, 0x8b, 0x04, 0x24)        // mov rax, [rsp]: seconds
	a.op(0x48, 0x83, 0xc4, 0x10)        // add rsp, 16
	a.op(0x5f)                          // pop rdi
	a.op(0x48, 0x85, 0xff)              // test rdi, rdi
	a.op(0x74)                          // jz: only the result is wanted
	a.rel8("time done")                 //
	a.op(0x48, 0x89, 0x07)              // mov [rdi], rax
	a.label("time done")
	a.op(0xc3) // ret
}

// slot is an offset as the cells hold it.
func slot(offset time.Duration) []byte {
	sec, nsec := int64(offset)/second, int64(offset)%second
	if nsec < 0 {
		sec, nsec = sec-1, nsec+second
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(sec))
	return binary.LittleEndian.AppendUint64(b, uint64(nsec))
}
