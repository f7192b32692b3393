package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The index that a machine has applied after it restored a snapshot covers every command before the snapshot, also one that left
// nothing behind. A leader returns that index to members that then wait for it.
func TestAppliedAfterRestore(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	index := uint64(0)
	for _, cmd := range []*commandv1.Command{
		raise(Version), createLayout(tiny), acquire("a/0", 1000), observe(false), create(plain("s", numbers(1, 1, 1, 100)), 0), remove("s"),
		createToken("app", "a"), deleteToken(7), removeMember("x"), observe(false), // the last one changes nothing
	} {
		index++
		mustApply(t, m, index, at(epoch, cmd))
		var file sink
		snapshot, err := m.Snapshot()
		if err == nil {
			err = snapshot.Persist(&file)
		}
		if err != nil {
			t.Fatal(err)
		}
		other := New(Options{})
		if err := other.Restore(readerOf(file.Bytes())); err != nil || other.Applied() != index {
			t.Errorf("after %v at %d, a restored machine has applied %d, %v", cmd, index, other.Applied(), err)
		}
	}
}
