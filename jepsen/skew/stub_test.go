//go:build linux && amd64

package skew

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machine executes the stub in this process, with fake functions in place of the kernel's.
type machine struct {
	memory []byte
	stub   stub
}

// Offsets in a machine's memory.
const (
	fakeTime   = 1024          // answer of the fake clock_gettime: seconds, nanoseconds
	fakeZone   = fakeTime + 16 // time zone of the fake gettimeofday
	fakeFail   = fakeZone + 8  // result of the fake functions
	fakeCode   = 2048
	shims      = 3072
	machineEnd = 4096
)

// arguments holds the arguments and the result of a call.
type arguments struct{ first, second, result uintptr }

func newMachine(t *testing.T) *machine {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, machineEnd, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Skip("map writable and executable memory: ", err)
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
	a.op(0x48, 0x85, 0xff) // test rdi, rdi: the stub must not request the time
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
		t.Fatalf("stub has %d bytes, want at most %d", len(m.stub.bytes), fakeTime)
	}
	copy(memory, m.stub.bytes)
	return m
}

// clobber emits the end of a fake function: it overwrites all registers that C lets the
// function change, and traps if the stack was not aligned as C requires.
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

// call calls a function of the stub by C's convention. The call comes from a Go function
// of assembled instructions: the argument is in rax, and the function aligns the stack.
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

// at returns the address of an offset in the machine's memory.
func (m *machine) at(index int) uintptr { return uintptr(unsafe.Pointer(&m.memory[index])) }

// words returns the two words at an offset in the machine's memory.
func (m *machine) words(index int) *[2]int64 { return (*[2]int64)(unsafe.Pointer(&m.memory[index])) }

const scratch = fakeFail + 64 // offset of 32 bytes for results

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

// offsets returns offsets around full seconds, and random ones.
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
		m.set(offset+1, byte(turn+1)) // fills the slot that is then unused
		m.set(offset, byte(turn))
		for _, nsec := range []int64{0, 1, 499_999_999, second - 1, rand.Int64N(second)} {
			now := time.Unix(1_800_000_000+rand.Int64N(1e9), nsec)
			want := now.Add(offset)
			m.kernelSays(now.Unix(), nsec)
			for _, clock := range []uintptr{unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE} {
				if sec, nsec, result := m.gettime(t, clock); sec != want.Unix() || nsec != int64(want.Nanosecond()) || result != 0 {
					t.Fatalf("clock %d at %v with offset %d ns = %d s %d ns (result %d), want %d s %d ns",
						clock, now, offset, sec, nsec, result, want.Unix(), want.Nanosecond())
				}
			}
			m.call(t, symOfDay, m.at(scratch), 0)
			if got := *m.scratch(); got != [2]int64{want.Unix(), int64(want.Nanosecond() / 1000)} {
				t.Fatalf("gettimeofday at %v with offset %d ns = %v, want %v", now, offset, got, want)
			}
			if got := m.call(t, symTime, m.at(scratch), 0); got != want.Unix() || m.scratch()[0] != got {
				t.Fatalf("time at %v with offset %d ns = %d, stored %d, want %d", now, offset, got, m.scratch()[0], want.Unix())
			}
		}
	}
}

func TestStubKeepsOtherResults(t *testing.T) {
	m := newMachine(t)
	m.set(time.Hour+1, 7)
	m.kernelSays(5, second-1)
	for _, clock := range []uintptr{
		unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME,
		unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_TAI, 0xfffffffa, // CPU time of another process
	} {
		if sec, nsec, result := m.gettime(t, clock); sec != 5 || nsec != second-1 || result != 0 {
			t.Errorf("clock %d = %d s %d ns (result %d), want 5 s %d ns", clock, sec, nsec, result, second-1)
		}
	}

	m.words(fakeZone)[0] = 0x1234_5678_9abc
	m.call(t, symOfDay, 0, m.at(scratch))
	if got := m.scratch()[0]; got != 0x1234_5678_9abc {
		t.Errorf("time zone without time = %x, want 123456789abc", got)
	}
	m.call(t, symOfDay, m.at(scratch), m.at(scratch+16))
	if got := *m.scratch(); got != [2]int64{3606, 0} || m.words(scratch + 16)[0] != 0x1234_5678_9abc {
		t.Errorf("time and time zone = %v, %x, want [3606 0], 123456789abc", got, m.words(scratch + 16)[0])
	}
	if got := m.call(t, symOfDay, 0, 0); got != 0 {
		t.Errorf("gettimeofday(NULL, NULL) = %d, want 0", got)
	}
	if got := m.call(t, symTime, 0, 0); got != 3606 {
		t.Errorf("time(NULL) = %d, want 3606", got)
	}

	m.words(fakeFail)[0] = -22
	if sec, nsec, result := m.gettime(t, unix.CLOCK_REALTIME); sec != 5 || nsec != second-1 || result != -22 {
		t.Errorf("failed clock_gettime = %d s %d ns (result %d), want 5 s %d ns (result -22)", sec, nsec, result, second-1)
	}
	if got := int32(m.call(t, symOfDay, m.at(scratch), 0)); got != -22 {
		t.Errorf("failed gettimeofday = %d, want -22", got)
	}
}

func TestAssemblerRejectsUnreachableTarget(t *testing.T) {
	for _, to := range []uint64{0, 1<<32 + 1<<31 + 200, 1<<32 - 1<<31 - 10} {
		if _, err := assemble(1<<32, map[string]uint64{symGettime: to}); err == nil {
			t.Errorf("assemble() of a call from %x to %x = nil error, want an error", uint64(1)<<32, to)
		}
	}
	a := newAssembler(0)
	a.rel8("far")
	a.op(make([]byte, 128)...)
	a.label("far")
	if _, err := a.link(); err == nil {
		t.Error("link() of a short jump over 128 bytes = nil error, want an error")
	}
	a = newAssembler(0)
	a.rel32("nowhere")
	if _, err := a.link(); err == nil {
		t.Error("link() of a jump to an undefined label = nil error, want an error")
	}
}
