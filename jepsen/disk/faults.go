//go:build linux

package disk

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// sector is the unit of an atomic disk write, in bytes.
const sector = 512

// Faults configures the faults of an interposed disk. The kernel splits a write
// into requests of at most 1 MiB, and each request counts as one write. Writes that
// a failed disk rejects count too. Syncs are fsync and fdatasync, of files and
// directories.
type Faults struct {
	// SyncDelay is the additional duration of each sync. A process that is killed
	// during a sync exits only after the sync: the kernel waits for the answer.
	SyncDelay time.Duration
	// SyncLies answers syncs without syncing: a power loss loses the writes.
	SyncLies bool
	// FailWrite, if positive, fails the n-th write from the injection with EIO.
	// Then the disk has failed: it also rejects all later writes, syncs and
	// changes of a file's size until the faults are replaced.
	FailWrite int
	// TornWrite, if positive, tears the n-th write from the injection: only the
	// bytes before a random 512-byte boundary of the file inside the write are
	// stored and synced; without such a boundary, no byte is stored. Then the disk
	// calls OnTorn, and has failed as after FailWrite.
	TornWrite int
	// OnTorn, if set, kills the process. The write is answered after OnTorn
	// returns, so the killed process never learns of the failure. OnTorn must not
	// wait for the exit of the process, which waits for the answer.
	OnTorn func()
}

// faulty holds a disk's faults and their effects. The zero value has no faults.
type faulty struct {
	writes, syncs, failed atomic.Uint64

	mu      sync.Mutex
	faults  Faults
	since   int           // writes since these faults were injected
	dead    bool          // the disk has failed
	hit     bool          // one of these faults took effect
	changed chan struct{} // closed when other faults are injected; may be nil
}

// inject replaces the faults and resets their effects. Delayed syncs continue at once.
func (f *faulty) inject(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.since, f.dead, f.hit = faults, 0, false, false
	if f.changed != nil {
		close(f.changed)
	}
	f.changed = make(chan struct{})
}

// writeFault is the fault of one write; the zero value is none.
type writeFault struct {
	fails  bool
	stored int    // bytes of a failed write to store
	onTorn func() // called before the answer; may be nil
}

// write counts a write of size bytes at an offset and returns its fault.
func (f *faulty) write(offset int64, size int) writeFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since++
	switch {
	case f.dead:
		return writeFault{fails: true}
	case f.since == f.faults.FailWrite:
		f.dead, f.hit = true, true
		return writeFault{fails: true}
	case f.since == f.faults.TornWrite:
		f.dead, f.hit = true, true
		return writeFault{fails: true, stored: tear(offset, size), onTorn: f.faults.OnTorn}
	}
	return writeFault{}
}

// tear returns the number of bytes of a write before a random sector boundary inside the write, 0 if no boundary is inside.
func tear(offset int64, size int) int {
	first := sector - int(offset%sector) // bytes before the first boundary
	inside := (size - first + sector - 1) / sector
	if inside <= 0 {
		return 0
	}
	return first + sector*rand.IntN(inside)
}

// came reports whether any of the present faults took effect.
func (f *faulty) came() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// has reports whether the disk has failed.
func (f *faulty) has() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// sync delays a sync as injected and then fails it, answers it without syncing, or calls really. A closed gone ends the delay;
// passthrough closes gone when FUSE is unmounted.
func (f *faulty) sync(gone <-chan struct{}, really func() error) error {
	f.syncs.Add(1)
	f.mu.Lock()
	delay, changed := f.faults.SyncDelay, f.changed
	f.hit = f.hit || delay > 0 || f.faults.SyncLies
	f.mu.Unlock()
	if delay > 0 {
		// The delay ignores FUSE interrupts: the Go runtime often interrupts the
		// calls of its own program, which does not expect EINTR from a file.
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-changed:
		case <-gone:
		}
		timer.Stop()
	}
	f.mu.Lock()
	dead, lies := f.dead, f.faults.SyncLies
	f.mu.Unlock()
	switch {
	case dead:
		return f.count(unix.EIO)
	case lies:
		return nil
	}
	return f.count(really())
}

// count counts a non-nil error and returns its argument.
func (f *faulty) count(err error) error {
	if err != nil {
		f.failed.Add(1)
	}
	return err
}
