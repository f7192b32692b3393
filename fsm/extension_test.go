package fsm

import (
	"bytes"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// extendAs is extend under an ID.
func extendAs(id uint64, g Grant, n []byte, until, windowMillis int64) *commandv1.Command {
	cmd := extend(g, n, until, windowMillis)
	cmd.GetExtendWindow().ExtensionId = id
	return cmd
}

// TestExtendRepeated: the reply to an extension is lost, and its repetition gets the window.
func TestExtendRepeated(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a/0", 1000))).Grant
	first := l.must(at(epoch+500, extendAs(7, g, nonceHash('a'), 100, 2000))).Grant
	before := l.Digest()
	for _, now := range []int64{epoch + 500, epoch + 1500, epoch - 1} {
		if r := l.must(at(now, extendAs(7, g, nonceHash('a'), 100, 60_000))); r.Grant != first {
			t.Errorf("repetition at %d: %+v, want %+v", now, r.Grant, first)
		}
	}
	if l.Digest() != before {
		t.Error("a repetition changed the state")
	}
	back, err := ReadState(bytes.NewReader(snapshotBytes(t, l.State)), Version)
	if err != nil {
		t.Fatal(err)
	}
	l.State = back
	if r := l.must(at(epoch+1500, extendAs(7, g, nonceHash('a'), 100, 2000))); r.Grant != first {
		t.Errorf("repetition after a restore: %+v, want %+v", r.Grant, first)
	}
	// One ID is remembered, until the next extension or the release.
	second := l.must(at(epoch+1500, extendAs(8, g, nonceHash('a'), first.Until, 2000))).Grant
	l.refused(windowMismatch, at(epoch+1500, extendAs(7, g, nonceHash('a'), 100, 2000)))
	l.must(at(epoch+1500, release(second, nonceHash('a'), second.From)))
	l.refused(windowMismatch, at(epoch+1500, extendAs(8, g, nonceHash('a'), first.Until, 2000)))
	again := l.must(at(epoch+1500, acquire("a/0", 500))).Grant
	l.refused(windowMismatch, at(epoch+1500, extendAs(8, again, nonceHash('a'), first.Until, 2000)))
}

// TestExtendByClone: a copy of the process has its token, its nonce and its end, and draws another ID.
func TestExtendByClone(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a/0", 1000))).Grant
	l.must(at(epoch+500, extendAs(7, g, nonceHash('a'), 100, 2000)))
	l.refused(windowMismatch, at(epoch+500, extendAs(9, g, nonceHash('a'), 100, 2000)))
	for name, spoil := range map[string]func(c *commandv1.ExtendWindow){
		"another token": func(c *commandv1.ExtendWindow) { c.Token++ },
		"another nonce": func(c *commandv1.ExtendWindow) { c.NonceHash = nonceHash('b') },
		"another end":   func(c *commandv1.ExtendWindow) { c.UntilTick++ },
	} {
		cmd := at(epoch+500, extendAs(7, g, nonceHash('a'), 100, 2000))
		spoil(cmd.GetExtendWindow())
		t.Run(name, func(t *testing.T) {
			l.t = t
			l.refused(windowMismatch, cmd)
		})
	}
	l.t = t
	l.refused(invalidArgument, at(epoch+500, extendAs(0, g, nonceHash('a'), 250, 2000)))
}
