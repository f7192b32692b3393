package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/internal/position"
)

// marked opens the watermark of a directory whose member belongs to a cluster, and raises it to some indexes.
func marked(t *testing.T, dir, cluster string, indexes ...uint64) *Watermark {
	t.Helper()
	id := mustOpen(t, dir)
	if _, err := id.Adopt(cluster); err != nil {
		t.Fatal(err)
	}
	w, err := OpenWatermark(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range indexes {
		if err := w.Raise(markAt(cluster, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := id.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func markAt(cluster string, index uint64) position.Position {
	return position.Position{Cluster: uuid.MustParse(cluster), Index: index, Nonce: [16]byte{1}, HashIndex: index, Hash: [16]byte{2}}
}

func TestWatermarkOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir, cluster := t.TempDir(), uuid.NewString()
	if got := marked(t, dir, cluster).Mark(); got != (position.Position{}) {
		t.Errorf("a new directory has the watermark %+v", got)
	}
	for _, last := range []uint64{5, 6, 7} {
		marked(t, dir, cluster, last)
		if got := marked(t, dir, cluster).Mark(); got != markAt(cluster, last) {
			t.Errorf("watermark %+v, want index %d", got, last)
		}
	}
}

// A torn write, or a flipped bit, costs only the last position.
func TestDamagedSlotOfTheWatermark(t *testing.T) {
	t.Parallel()
	cluster := uuid.NewString()
	whole := t.TempDir()
	marked(t, whole, cluster, 5, 6)
	raw, err := os.ReadFile(filepath.Join(whole, watermarkFile))
	if err != nil {
		t.Fatal(err)
	}
	for slot, other := range map[int]uint64{0: 6, 1: 5} {
		for at := range slotSize {
			damaged := append([]byte{}, raw...)
			damaged[slot*slotDistance+at] ^= 4
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, watermarkFile), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := marked(t, dir, cluster).Mark(); got.Index != other {
				t.Fatalf("byte %d of slot %d is damaged: index %d, want %d", at, slot, got.Index, other)
			}
		}
	}
	short := t.TempDir()
	if err := os.WriteFile(filepath.Join(short, watermarkFile), raw[:slotDistance+slotSize-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, short, cluster).Mark(); got.Index != 5 {
		t.Errorf("index %d of a file that was cut off, want 5", got.Index)
	}
}

func TestWatermarkFromAnotherCluster(t *testing.T) {
	t.Parallel()
	from, dir := t.TempDir(), t.TempDir()
	marked(t, from, uuid.NewString(), 5)
	raw, err := os.ReadFile(filepath.Join(from, watermarkFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, watermarkFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := marked(t, dir, uuid.NewString()).Mark(); got != (position.Position{}) {
		t.Errorf("watermark %+v", got)
	}
}
