//go:build linux

package disk

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// sector is what a disk writes as a whole or not at all, in bytes.
const sector = 512

// Faults are what an interposed disk does wrong. The kernel hands a write on in
// requests of at most 1 MiB, and each is a write here; those that a failed disk
// refuses count too. Syncs are fsync and fdatasync, of files and directories.
type Faults struct {
	// SyncDelay is how much longer each sync takes. A process that is killed
	// meanwhile is gone only after it: the kernel lets nobody leave earlier.
	SyncDelay time.Duration
	// SyncLies answers syncs without doing anything: what was written is lost when
	// the power is.
	SyncLies bool
	// FailWrite, if positive, fails the n-th write from now on with EIO. The disk
	// has failed then: it refuses all later writes, syncs and changes of a file's
	// size as well until the faults are replaced.
	FailWrite int
	// TornWrite, if positive, stores of the n-th write from now on only what is
	// before a random one of the file's 512-byte boundaries inside of it, durably,
	// and nothing if there is none inside. Then it calls OnTorn; the disk has
	// failed like after FailWrite.
	TornWrite int
	// OnTorn kills the process, if it is set. Before it returns no answer is given,
	// so that a process killed by it never learns of the failure. It must not wait
	// for the end of the process, which waits for this answer.
	OnTorn func()
}

// faulty is the faults of a disk and what has become of them. Its zero value has
// none.
type faulty struct {
	writes, syncs, failed atomic.Uint64

	mu      sync.Mutex
	faults  Faults
	since   int           // writes since these faults were injected
	dead    bool          // the disk has failed
	hit     bool          // one of these faults came about
	changed chan struct{} // closed when other faults are injected; may be nil
}

func (f *faulty) inject(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.since, f.dead, f.hit = faults, 0, false, false
	if f.changed != nil {
		close(f.changed)
	}
	f.changed = make(chan struct{})
}

// writeFault is how a write fails; zero if it does not.
type writeFault struct {
	fails  bool
	stored int    // so many bytes of it are stored nevertheless
	onTorn func() // called before it is answered; may be nil
}

// write decides about a write of so many bytes at an offset.
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

// tear returns the number of bytes of a write that are before a random sector's end inside of it.
func tear(offset int64, size int) int {
	first := sector - int(offset%sector) // bytes before the first boundary
	inside := (size - first + sector - 1) / sector
	if inside <= 0 {
		return 0
	}
	return first + sector*rand.IntN(inside)
}

// came reports whether any of these faults came about.
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

// sync does what becomes of a sync. gone is closed when FUSE ends.
func (f *faulty) sync(gone <-chan struct{}, really func() error) error {
	f.syncs.Add(1)
	f.mu.Lock()
	delay, changed := f.faults.SyncDelay, f.changed
	f.hit = f.hit || delay > 0 || f.faults.SyncLies
	f.mu.Unlock()
	if delay > 0 {
		// An interruption is not looked at: Go programs interrupt their own calls
		// all the time, and expect no error for it from a file.
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

// count counts an error, if it is one.
func (f *faulty) count(err error) error {
	if err != nil {
		f.failed.Add(1)
	}
	return err
}
