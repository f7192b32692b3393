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

// member is the real program with its data on a disk.
type member struct {
	t   *testing.T
	d   *Disk
	bin string

	process *os.Process
	ended   <-chan struct{} // closed when it has
	said    *output
}

// output is what a process has said so far.
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

// gone reports whether the process has ended.
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

// issues waits for an ID, and reports false if the member ends before.
func (m *member) issues() (issued bool) {
	m.t.Helper()
	within(m.t, 30*time.Second, func() bool {
		_, err := m.id()
		issued = err == nil
		return issued || m.gone()
	})
	return issued
}

// ends keeps the member busy until it has ended.
func (m *member) ends() {
	m.t.Helper()
	within(m.t, 30*time.Second, func() bool {
		if !m.gone() {
			_ = exec.Command(m.bin, "seq", "next", "orders", "--create", "--timeout", "1s").Run()
		}
		return m.gone()
	})
}

// powerLoss cuts the power, which ends the process, and restores it.
func (m *member) powerLoss() {
	m.t.Helper()
	if err := m.d.PowerOff(); err != nil {
		m.t.Fatal(err)
	}
	m.kill()
	restorePower(m.t, m.d)
}

// The real program lives with all of this, or ends and says why.
func TestMember(t *testing.T) {
	m := newMember(t)
	mustIssue := func(after string) {
		t.Helper()
		m.start()
		if !m.issues() {
			t.Fatalf("after %s the member does not start: %s", after, m.said)
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
		t.Errorf("after a failed write it says: %s", said)
	}
	m.d.Inject(Faults{})
	mustIssue("a failed write")

	if err := m.d.PowerOff(); err != nil {
		t.Fatal(err)
	}
	m.ends()
	restorePower(t, m.d)
	mustIssue("the disk was dead")

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
		t.Errorf("after lying syncs it ends and says: %s", m.said)
	}
}

// A bit that is turned in what a member needs keeps it from starting.
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
					t.Errorf("%v: it ends and says: %s", d, said)
				}
			} else {
				t.Logf("%v: not noticed", d)
			}
			m.kill()
			if err := CopyDir(saved, m.data()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refused[Log] < tries/2 || refused[Identity] < tries/2 {
		t.Errorf("of %d each: %v", tries, refused)
	}
}
