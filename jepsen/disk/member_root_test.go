//go:build root && linux

package disk

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// member is the real program with its data directory on a disk.
type member struct {
	t   *testing.T
	d   *Disk
	bin string

	process *os.Process
	ended   <-chan struct{} // closed when process has exited
	said    *output
}

// output is the output of a process so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newMember(t *testing.T) *member {
	t.Helper()
	m := &member{t: t, d: newInterposed(t), bin: filepath.Join(t.TempDir(), "snowraft")}
	if out, err := exec.Command("go", "build", "-o", m.bin, "../../cmd/snowraft").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	return m
}

func (m *member) data() string { return filepath.Join(m.d.Under(), "data") }

func (m *member) start() {
	m.t.Helper()
	m.said = &output{}
	cmd := exec.Command(m.bin, "serve", "--data-dir", filepath.Join(m.d.Path(), "data"))
	cmd.Stdout, cmd.Stderr = m.said, m.said
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	m.process, m.ended = cmd.Process, done
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
}

func (m *member) kill() {
	_ = m.process.Kill()
	<-m.ended
}

// gone reports whether the process has exited.
func (m *member) gone() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// id requests an ID.
func (m *member) id() (string, error) {
	out, err := exec.Command(m.bin, "id", "--timeout", "1s").Output()
	return strings.TrimSpace(string(out)), err
}

// issues waits for an ID and returns false if the member exits first.
func (m *member) issues() (issued bool) {
	m.t.Helper()
	within(m.t, 30*time.Second, func() bool {
		_, err := m.id()
		issued = err == nil
		return issued || m.gone()
	})
	return issued
}

// ends sends requests to the member until it has exited.
func (m *member) ends() {
	m.t.Helper()
	within(m.t, 30*time.Second, func() bool {
		if !m.gone() {
			_ = exec.Command(m.bin, "seq", "next", "orders", "--create", "--timeout", "1s").Run()
		}
		return m.gone()
	})
}

// powerLoss cuts the power, kills the process and restores the power.
func (m *member) powerLoss() {
	m.t.Helper()
	if err := m.d.PowerOff(); err != nil {
		m.t.Fatal(err)
	}
	m.kill()
	restorePower(m.t, m.d)
}

// After each fault the real program either keeps working or halts with a reason, and it restarts afterwards.
func TestMember(t *testing.T) {
	m := newMember(t)
	mustIssue := func(after string) {
		t.Helper()
		m.start()
		if !m.issues() {
			t.Fatalf("the member does not start after %s: %s", after, m.said)
		}
	}
	mustIssue("nothing")
	m.kill()
	mustIssue("a kill")
	m.powerLoss()
	mustIssue("a power loss")

	m.d.Inject(Faults{FailWrite: 1})
	m.ends()
	if said := m.said.String(); !strings.Contains(said, "member halted") || !strings.Contains(said, ioError) {
		t.Errorf("output after a failed write: %s\nwant \"member halted\" and %q", said, ioError)
	}
	m.d.Inject(Faults{})
	mustIssue("a failed write")

	if err := m.d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	m.ends()
	restorePower(t, m.d)
	mustIssue("a dead disk")

	for n := 1; n <= 4; n++ {
		m.d.Inject(Faults{TornWrite: n, OnTorn: func() { _ = m.process.Kill() }})
		m.ends()
		m.powerLoss()
		m.d.Inject(Faults{})
		mustIssue("a torn write")
	}

	m.kill()
	m.d.Inject(Faults{SyncLies: true})
	mustIssue("a kill")
	m.powerLoss()
	m.d.Inject(Faults{})
	m.start()
	if !m.issues() && !strings.Contains(m.said.String(), "snowraft: ") {
		t.Errorf("the member halts after lying syncs without a reason: %s", m.said)
	}
}

// A member with a flipped bit in its log or identity does not start.
func TestMemberDetectsDamage(t *testing.T) {
	m := newMember(t)
	m.start()
	m.issues()
	m.kill()
	saved := filepath.Join(t.TempDir(), "saved")
	if err := CopyDir(m.data(), saved); err != nil {
		t.Fatal(err)
	}
	refused := map[Part]int{}
	const tries = 8
	for seed := range uint64(tries) {
		for _, part := range []Part{Log, Identity} {
			d, err := FlipBit(rand.New(rand.NewPCG(seed, 4)), m.data(), part)
			if err != nil {
				t.Fatal(err)
			}
			m.start()
			if !m.issues() {
				refused[part]++
				if said := m.said.String(); !strings.Contains(said, "is damaged") {
					t.Errorf("%v: output %s, want \"is damaged\" in it", d, said)
				}
			} else {
				t.Logf("%v: not detected", d)
			}
			m.kill()
			if err := CopyDir(saved, m.data()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refused[Log] < tries/2 || refused[Identity] < tries/2 {
		t.Errorf("detected damages by part: %v, want at least half of %d each", refused, tries)
	}
}
