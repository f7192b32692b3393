package fsm

import (
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func seal(evidence []byte) *commandv1.Command {
	return &commandv1.Command{Version: 2, ClockAtMs: epoch + 5000, Body: &commandv1.Command_Seal{
		Seal: &commandv1.Seal{Evidence: evidence, Witness: "node-3", Reason: "index 7 differs"},
	}}
}

// sampleSealed returns a state with a lineage and a seal.
func sampleSealed(t testing.TB) *State {
	t.Helper()
	l := newOffice(t)
	other := l.fork()
	l.elect('b')
	l.run(2)
	l.must(at(epoch+1000, acquire("a/0", 2000)))
	other.elect('c')
	l.must(seal(other.run(1).Append(nil)))
	return l.State
}

// TestSealNeedsProof presents the evidence of the same history, of a replica ahead, and of another branch.
func TestSealNeedsProof(t *testing.T) {
	l := newOffice(t)
	early := l.position()
	other := l.fork()
	l.run(2)
	ahead := l.fork()
	for name, evidence := range map[string][]byte{
		"own":          l.position().Append(nil),
		"earlier":      early.Append(nil),
		"ahead":        ahead.run(9).Append(nil),
		"no position":  []byte("x"),
		"another life": func() []byte { p := other.position(); p.Life, p.Nonce = 1, leadNonce('z'); return p.Append(nil) }(),
	} {
		if r := l.do(seal(evidence)); r.Err == nil || r.Err.Reason != commandv1.Refusal_REFUSAL_INVALID_ARGUMENT || l.Sealed() != nil {
			t.Errorf("%s: %v, sealed %v", name, r.Err, l.Sealed())
		}
	}
	long := seal(nil)
	long.GetSeal().Reason = strings.Repeat("x", maxReason+1)
	if r := l.do(long); r.Err == nil || l.Sealed() != nil {
		t.Errorf("a long reason: %v", r.Err)
	}
	other.elect('c')
	p := other.run(20)
	l.must(seal(p.Append(nil)))
	want := &commandv1.Sealed{Evidence: p.Append(nil), Witness: "node-3", Reason: "index 7 differs", Index: l.index, SealedAtMs: epoch + 5000}
	if got := l.Sealed(); got.String() != want.String() {
		t.Errorf("sealed %v, want %v", got, want)
	}
	l.must(seal(nil))
	if got := l.Sealed(); got.String() != want.String() {
		t.Errorf("a second seal: %v, want %v", got, want)
	}
}

// TestSealedGrantsNothing sends every command to a sealed cluster.
func TestSealedGrantsNothing(t *testing.T) {
	accepted := map[int32]bool{14: true, 16: true, 17: true, 18: true, 24: true, 25: true, 26: true, 29: true, 30: true, 35: true}
	for number := range kinds {
		l := newOffice(t)
		l.must(raise(Version))
		l.must(seal(nil))
		cmd := &commandv1.Command{Version: Version, ClockAtMs: epoch}
		cmd.ProtoReflect().Mutable(commandBody.Fields().ByNumber(number))
		r := l.do(cmd)
		if refused := r.Err != nil && r.Err.Reason == commandv1.Refusal_REFUSAL_SET_BACK; refused == accepted[int32(number)] {
			t.Errorf("command %d: %v", number, r.Err)
		}
	}
}

// TestSealedReplicasMayDiffer checks that a replica with the state of another branch stays a source for a restore.
func TestSealedReplicasMayDiffer(t *testing.T) {
	l := newOffice(t)
	l.must(checkpoint(0, nil))
	taken, _ := l.LastCheckpoint()
	l.must(seal(nil))
	another := [32]byte{1}
	if r := l.do(checkpoint(taken, another[:])); r.Failure() != nil {
		t.Error(r.Failure())
	}
	if index, _ := l.LastCheckpoint(); index != l.index {
		t.Errorf("last checkpoint %d, want %d", index, l.index)
	}
}

// TestMachinePublishesSeal waits for the change as a member does.
func TestMachinePublishesSeal(t *testing.T) {
	m := New(Options{})
	m.install(newOffice(t).State)
	changed := m.Changed()
	if m.Sealed() != nil {
		t.Fatal("sealed before the command")
	}
	if r := m.Apply(entryAt(t, 99, seal(nil))).(Result); r.Failure() != nil {
		t.Fatal(r.Failure())
	}
	<-changed
	if m.Sealed().GetIndex() != 99 {
		t.Errorf("sealed %v, want index 99", m.Sealed())
	}
}

// TestRestoreEndsSeal begins another life with the state of a sealed cluster.
func TestRestoreEndsSeal(t *testing.T) {
	l := newOffice(t)
	l.must(seal(nil))
	l.restore(nil)
	if p := l.position(); l.Sealed() != nil || p.Life != 1 || p.Nonce != noNonce || p.HashIndex != 0 {
		t.Errorf("sealed %v at %+v, want no seal and a position of life 1 alone", l.Sealed(), p)
	}
	l.elect('b')
	l.run(1)
	l.must(acknowledge(l.restored.GetIndex()))
}
