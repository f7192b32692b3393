//go:build linux && amd64

package skew

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A machine executes the stub within this process, with functions in the place of the
// kernel's that answer what a test wants.
type machine struct {
	memory []byte
	stub   stub
}

// Where what is in a machine's memory.
const (
	fakeTime   = 1024 // what the false clock_gettime answers: seconds, nanoseconds
	fakeZone   = fakeTime + 16
	fakeFail   = fakeZone + 8 // its result
	fakeCode   = 2048
	shims      = 3072
	machineEnd = 4096
)

// arguments are those of a call, and its result.
type arguments struct{ first, second, result uintptr }

func newMachine(t *testing.T) *machine {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, machineEnd, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Skip("memory that is writable and executable: ", err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))

	a := newAssembler(base + fakeCode)
	for name, at := range map[string]uint64{"time": fakeTime, "zone": fakeZone, "fail": fakeFail} {
		a.labels[name] = base + at
	}
	a.label(symGettime)
	a.op(0x48, 0x8b, 0x05) // mov rax, [time]
	a.rel32("time")
	a.op(0x48, 0x89, 0x06) // mov [rsi], rax
	a.op(0x48, 0x8b, 0x05) // mov rax, [time + 8]
	a.labels["nanoseconds"] = base + fakeTime + 8
	a.rel32("nanoseconds")
	a.op(0x48, 0x89, 0x46, 0x08) // mov [rsi + 8], rax
	clobber(a)
	a.label(symOfDay)
	a.op(0x48, 0x85, 0xff) // test rdi, rdi: the time is not to be requested
	a.op(0x74, 0x01, 0xcc) // jz over int3
	a.op(0x48, 0x85, 0xf6) // test rsi, rsi
	a.op(0x74)             // jz
	a.rel8("no zone")
	a.op(0x48, 0x8b, 0x05) // mov rax, [zone]
	a.rel32("zone")
	a.op(0x48, 0x89, 0x06) // mov [rsi], rax
	a.label("no zone")
	clobber(a)
	a.label("trap")
	a.op(0xcc)
	originals := map[string]uint64{symGettime: a.labels[symGettime], symOfDay: a.labels[symOfDay], symTime: a.labels["trap"]}
	code, err := a.link()
	if err != nil {
		t.Fatal(err)
	}
	copy(memory[fakeCode:], code)

	m := &machine{memory: memory}
	if m.stub, err = assemble(base, originals); err != nil {
		t.Fatal(err)
	}
	if len(m.stub.bytes) > fakeTime {
		t.Fatalf("the stub has %d bytes", len(m.stub.bytes))
	}
	copy(memory, m.stub.bytes)
	return m
}

// clobber ends a false function, with rubbish in all registers that it may use, and fails
// if the stack is not as C wants it.
func clobber(a *assembler) {
	a.op(0x48, 0x8d, 0x44, 0x24, 0x08) // lea rax, [rsp + 8]
	a.op(0xa8, 0x0f)                   // test al, 15
	a.op(0x74, 0x01, 0xcc)             // jz over int3
	for _, mov := range [][]byte{{0xb9}, {0xba}, {0xbe}, {0xbf}, {0x41, 0xb8}, {0x41, 0xb9}, {0x41, 0xba}, {0x41, 0xbb}} {
		a.op(mov...) // mov ecx, edx, esi, edi, r8d, r9d, r10d, r11d
		a.imm32(0x5a5a5a5a)
	}
	a.op(0x8b, 0x05) // mov eax, [fail]
	a.rel32("fail")
	a.op(0xc3) // ret
}

// call calls a function of the stub, by C's conventions, from a Go function that is one
// instruction after the other: its argument is in rax, and the stack must be aligned.
func (m *machine) call(t *testing.T, name string, first, second uintptr) int64 {
	t.Helper()
	base := uint64(uintptr(unsafe.Pointer(&m.memory[0])))
	a := newAssembler(base + shims)
	a.labels["function"] = m.stub.entry[name]
	a.op(0x55)                   // push rbp
	a.op(0x48, 0x89, 0xe5)       // mov rbp, rsp
	a.op(0x48, 0x83, 0xe4, 0xf0) // and rsp, -16
	a.op(0x50)                   // push rax
	a.op(0x50)                   // push rax
	a.op(0x48, 0x8b, 0x38)       // mov rdi, [rax]
	a.op(0x48, 0x8b, 0x70, 0x08) // mov rsi, [rax + 8]
	a.op(0xe8)                   // call
	a.rel32("function")
	a.op(0x59)                   // pop rcx
	a.op(0x48, 0x89, 0x41, 0x10) // mov [rcx + 16], rax
	a.op(0x48, 0x89, 0xec)       // mov rsp, rbp
	a.op(0x5d)                   // pop rbp
	a.op(0xc3)                   // ret
	code, err := a.link()
	if err != nil {
		t.Fatal(err)
	}
	copy(m.memory[shims:], code)
	args := &arguments{first: first, second: second}
	function := &struct{ code uintptr }{uintptr(unsafe.Pointer(&m.memory[shims]))}
	(*(*func(*arguments))(unsafe.Pointer(&function)))(args)
	return int64(args.result)
}

// at is a place in the machine's memory that code may write to.
func (m *machine) at(index int) uintptr { return uintptr(unsafe.Pointer(&m.memory[index])) }

// words are what is there.
func (m *machine) words(index int) *[2]int64 { return (*[2]int64)(unsafe.Pointer(&m.memory[index])) }

const scratch = fakeFail + 64 // two times 16 bytes

func (m *machine) set(offset time.Duration, turn byte) {
	copy(m.memory[int(turn&1)*slotSize:], slot(offset))
	m.memory[generation] = turn
}

func (m *machine) kernelSays(sec, nsec int64) {
	*m.words(fakeTime) = [2]int64{sec, nsec}
}

func (m *machine) scratch() *[2]int64 { return m.words(scratch) }

// gettime calls clock_gettime.
func (m *machine) gettime(t *testing.T, clock uintptr) (sec, nsec, result int64) {
	t.Helper()
	result = int64(int32(m.call(t, symGettime, clock, m.at(scratch))))
	return m.scratch()[0], m.scratch()[1], result
}

// offsets are those around full seconds, and any.
func offsets() []time.Duration {
	list := []time.Duration{0, maxOffset, -maxOffset}
	for _, d := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute, time.Hour, 20000 * 24 * time.Hour} {
		list = append(list, d-1, d, d+1, -d-1, -d, -d+1)
	}
	for range 2000 {
		list = append(list, time.Duration(rand.Int64N(int64(2*maxOffset)))-maxOffset)
	}
	return list
}

func TestStubAddsTheOffset(t *testing.T) {
	m := newMachine(t)
	for turn, offset := range offsets() {
		m.set(offset+1, byte(turn+1)) // the slot that does not count
		m.set(offset, byte(turn))
		for _, nsec := range []int64{0, 1, 499_999_999, second - 1, rand.Int64N(second)} {
			now := time.Unix(1_800_000_000+rand.Int64N(1e9), nsec)
			want := now.Add(offset)
			m.kernelSays(now.Unix(), nsec)
			for _, clock := range []uintptr{unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE} {
				if sec, nsec, result := m.gettime(t, clock); sec != want.Unix() || nsec != int64(want.Nanosecond()) || result != 0 {
					t.Fatalf("clock %d at %v off by %d ns: %d s %d ns (%d), want %d s %d ns", clock, now, offset, sec, nsec, result, want.Unix(), want.Nanosecond())
				}
			}
			m.call(t, symOfDay, m.at(scratch), 0)
			if got := *m.scratch(); got != [2]int64{want.Unix(), int64(want.Nanosecond() / 1000)} {
				t.Fatalf("gettimeofday at %v off by %d ns: %v", now, offset, got)
			}
			if got := m.call(t, symTime, m.at(scratch), 0); got != want.Unix() || m.scratch()[0] != got {
				t.Fatalf("time at %v off by %d ns: %d, %d", now, offset, got, m.scratch()[0])
			}
		}
	}
}

func TestStubLeavesTheRestAlone(t *testing.T) {
	m := newMachine(t)
	m.set(time.Hour+1, 7)
	m.kernelSays(5, second-1)
	for _, clock := range []uintptr{
		unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME,
		unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_TAI, 0xfffffffa, // of another process
	} {
		if sec, nsec, result := m.gettime(t, clock); sec != 5 || nsec != second-1 || result != 0 {
			t.Errorf("clock %d: %d s %d ns (%d)", clock, sec, nsec, result)
		}
	}

	m.words(fakeZone)[0] = 0x1234_5678_9abc
	m.call(t, symOfDay, 0, m.at(scratch))
	if got := m.scratch()[0]; got != 0x1234_5678_9abc {
		t.Errorf("the time zone alone: %x", got)
	}
	m.call(t, symOfDay, m.at(scratch), m.at(scratch+16))
	if got := *m.scratch(); got != [2]int64{3606, 0} || m.words(scratch + 16)[0] != 0x1234_5678_9abc {
		t.Errorf("the time and the time zone: %v, %x", got, m.words(scratch + 16)[0])
	}
	if got := m.call(t, symOfDay, 0, 0); got != 0 {
		t.Errorf("nothing: %d", got)
	}
	if got := m.call(t, symTime, 0, 0); got != 3606 {
		t.Errorf("the time as the result alone: %d", got)
	}

	m.words(fakeFail)[0] = -22
	if sec, nsec, result := m.gettime(t, unix.CLOCK_REALTIME); sec != 5 || nsec != second-1 || result != -22 {
		t.Errorf("a failure: %d s %d ns (%d)", sec, nsec, result)
	}
	if got := int32(m.call(t, symOfDay, m.at(scratch), 0)); got != -22 {
		t.Errorf("a failure of gettimeofday: %d", got)
	}
}

func TestAssemblerRefusesWhatItCannotReach(t *testing.T) {
	for _, to := range []uint64{0, 1<<32 + 1<<31 + 200, 1<<32 - 1<<31 - 10} {
		if _, err := assemble(1<<32, map[string]uint64{symGettime: to}); err == nil {
			t.Errorf("a call from %x to %x", uint64(1)<<32, to)
		}
	}
	a := newAssembler(0)
	a.rel8("far")
	a.op(make([]byte, 128)...)
	a.label("far")
	if _, err := a.link(); err == nil {
		t.Error("a short jump over 128 bytes")
	}
	a = newAssembler(0)
	a.rel32("nowhere")
	if _, err := a.link(); err == nil {
		t.Error("a jump to nowhere")
	}
}
