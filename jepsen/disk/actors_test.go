//go:build root && linux

package disk

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// actors maps roles to the main functions of the processes that use a disk in tests.
var actors = map[string]func(args []string) error{
	"commit": commitForever,
	"hold":   holdOpen,
	"open":   openOnce,
	"do":     do,
	"copy":   copyMounts,
}

// copyMounts makes a mount namespace that receives the mounts and unmounts of the present one, prints "copied", and waits until
// the process is killed.
func copyMounts([]string) error {
	runtime.LockOSThread() // the namespace belongs to the thread
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "copied")
	for {
		_ = unix.Pause() // also returns after signals of the runtime
	}
}

// commitForever commits the numbers from 1 upward to a database, each with 3000
// bytes of ballast in a separate transaction. It prints each number after its
// commit has returned.
func commitForever(args []string) error {
	db, err := bbolt.Open(args[0], 0o600, &bbolt.Options{Timeout: 1, NoFreelistSync: true})
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(numbers)
			if err != nil {
				return err
			}
			return b.Put(binary.BigEndian.AppendUint64(nil, n), make([]byte, 3000))
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, n); err != nil {
			return err
		}
	}
}

// holdOpen opens a database, prints "open" and keeps the database open until the process is killed.
func holdOpen(args []string) error {
	if _, err := bbolt.Open(args[0], 0o600, nil); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "open")
	for {
		_ = unix.Pause() // also returns after signals of the runtime
	}
}

// openOnce opens a database and closes it.
func openOnce(args []string) error {
	db, err := bbolt.Open(args[0], 0o600, &bbolt.Options{Timeout: 1})
	if err != nil {
		return err
	}
	return db.Close()
}

// do runs one command per argument and prints each result: "write PATH OFFSET SIZE
// LETTER", "sync PATH", "cut PATH SIZE", "read PATH".
func do(args []string) error {
	for _, arg := range args {
		result, err := one(strings.Fields(arg))
		if err != nil {
			result = err.Error()
		}
		if _, err := fmt.Fprintln(os.Stdout, result); err != nil {
			return err
		}
	}
	return nil
}

func one(words []string) (_ string, err error) {
	f, err := os.OpenFile(words[1], os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, unix.EISDIR) {
		f, err = os.Open(words[1])
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	var n []int64
	for _, word := range words[2:] {
		if i, err := strconv.ParseInt(word, 10, 64); err == nil {
			n = append(n, i)
		}
	}
	switch words[0] {
	case "write":
		_, err = f.WriteAt(bytes.Repeat([]byte(words[4]), int(n[1])), n[0])
	case "sync":
		err = f.Sync()
	case "cut":
		err = f.Truncate(n[0])
	case "read":
		raw, err := io.ReadAll(f)
		return fmt.Sprintf("%d %.3s", len(raw), raw), err
	}
	return "ok", err
}

var numbers = []byte("numbers")

// actor is a started process that uses a disk.
type actor struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, role string, args ...string) *actor {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "DISK_TEST_ROLE="+role)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &actor{cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(a.kill)
	return a
}

// line returns the next line that the process prints, "" after its last line.
func (a *actor) line() string {
	if !a.lines.Scan() {
		return ""
	}
	return a.lines.Text()
}

func (a *actor) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

// committed returns the last number of a database that must hold the numbers from 1 without a gap.
func committed(t *testing.T, path string) uint64 {
	t.Helper()
	db, err := bbolt.Open(filepath.Clean(path), 0o600, &bbolt.Options{ReadOnly: true, Timeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var last uint64
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(numbers)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, _ []byte) error {
			if n := binary.BigEndian.Uint64(k); n != last+1 {
				return fmt.Errorf("number %d follows %d", n, last)
			}
			last++
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func pid(a *actor) string { return strconv.Itoa(a.cmd.Process.Pid) }
