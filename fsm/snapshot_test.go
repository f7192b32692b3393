package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

var update = flag.Bool("fsm.update", false, "rewrite the golden snapshot")

func TestSnapshotGolden(t *testing.T) {
	// These bytes are on disks: they never change while the format stays the same.
	earlier := sampleRestored(t) // written by the program before
	earlier.version, earlier.restored.OldMembers = firstVersion, nil
	for name, s := range map[string]*State{
		"snapshot.golden": sample(t), "snapshot_sequences.golden": sampleSequences(t), "snapshot_tokens.golden": sampleTokens(t),
		"snapshot_restored.golden": earlier, "snapshot_sealed.golden": sampleSealed(t), "snapshot_lives.golden": sampleRestored(t),
	} {
		file := filepath.Join("testdata", name)
		got := snapshotBytes(t, s)
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("a snapshot of %d bytes differs from %s of %d", len(got), name, len(want))
		}
		if back, err := ReadState(bytes.NewReader(want), Version); err != nil || back.Digest() != s.Digest() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	for name, s := range map[string]*State{"empty": NewState(), "sample": sample(t), "sampleSequences": sampleSequences(t), "sampleTokens": sampleTokens(t), "sampleRestored": sampleRestored(t), "sampleSealed": sampleSealed(t)} {
		data := snapshotBytes(t, s)
		back, err := ReadState(bytes.NewReader(data), Version)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if back.Digest() != s.Digest() || !bytes.Equal(snapshotBytes(t, back), data) {
			t.Errorf("%s: the restored state differs", name)
		}
	}
}

func TestSnapshotFindsEveryDamage(t *testing.T) {
	findsEveryDamage(t, snapshotBytes(t, sample(t)))
	findsEveryDamage(t, snapshotBytes(t, sampleSequences(t)))
	findsEveryDamage(t, snapshotBytes(t, sampleTokens(t)))
	findsEveryDamage(t, snapshotBytes(t, sampleRestored(t)))
}

func findsEveryDamage(t *testing.T, data []byte) {
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		if _, err := ReadState(bytes.NewReader(damaged), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := ReadState(bytes.NewReader(data[:i]), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut off after %d bytes: %v", i, err)
		}
	}
	if _, err := ReadState(bytes.NewReader(append(data, 0)), Version); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

// reseal decodes a snapshot, lets edit change the records (except the end record), and
// encodes it with correct checksums, count and digest.
func reseal(t testing.TB, data []byte, edit func([]*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord) []byte {
	t.Helper()
	var records []*commandv1.SnapshotRecord
	for rest := data[snapshotHeader:]; len(rest) > 0; {
		length := int(binary.BigEndian.Uint32(rest))
		record := &commandv1.SnapshotRecord{}
		if err := proto.Unmarshal(rest[recordHeader:recordHeader+length], record); err != nil {
			t.Fatal(err)
		}
		if record.GetEnd() == nil {
			records = append(records, record)
		}
		rest = rest[recordHeader+length:]
	}
	sum, out := newRecordSum(), bytes.Clone(data[:snapshotHeader])
	frame := func(payload []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(payload)))
		out = binary.BigEndian.AppendUint32(out, crc32.Checksum(payload, castagnoli))
		out = append(out, payload...)
	}
	for _, record := range edit(records) {
		frame(sum.add(record))
	}
	frame(newRecordSum().add(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_End{
		End: &commandv1.SnapshotEnd{Records: sum.records, Digest: sum.hash.Sum(nil)},
	}}))
	return out
}

// TestSnapshotRefusesWhatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesWhatNoStateWrites(t *testing.T) {
	data := snapshotBytes(t, sample(t))
	if _, err := ReadState(bytes.NewReader(reseal(t, data, func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord { return r })), Version); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	// The records: meta, layout default, layout tiny, workers 0 and 1, two grants, a member.
	type records = []*commandv1.SnapshotRecord
	for name, edit := range map[string]func(r records) records{
		"nothing":                func(records) records { return nil },
		"no meta":                func(r records) records { return r[1:] },
		"meta twice":             func(r records) records { return append(r[:1:1], r...) },
		"an empty record":        func(r records) records { return append(r, &commandv1.SnapshotRecord{}) },
		"version 0":              func(r records) records { r[0].GetMeta().FsmVersion = 0; return r },
		"a clock before 1970":    func(r records) records { r[0].GetMeta().ObservedClockAtMs = -1; return r },
		"a wrong config":         func(r records) records { r[0].GetMeta().Config.MaxWindowMs = 0; return r },
		"a config of no change":  func(r records) records { r[0].GetMeta().Config.Generation = 0; return r },
		"half a digest":          func(r records) records { r[0].GetMeta().CheckpointDigest = nonceHash(0)[:16]; return r },
		"layouts out of order":   func(r records) records { r[1], r[2] = r[2], r[1]; return r },
		"a layout twice":         func(r records) records { return append(r[:2:2], r[1:]...) },
		"a wrong layout":         func(r records) records { r[1].GetLayout().Spec.UnitMs = 0; return r },
		"a layout of the future": func(r records) records { r[1].GetLayout().CreatedAtMs = 0; return r },
		"worker 0 missing":       func(r records) records { return append(r[:3:3], r[4:]...) },
		"worker 1 missing":       func(r records) records { return append(r[:4:4], r[5:]...) },
		"workers out of order":   func(r records) records { r[3], r[4] = r[4], r[3]; return r },
		"a worker too many": func(r records) records {
			more := proto.CloneOf(r[4])
			more.GetWorker().Worker, more.GetWorker().Token = 2, 1000
			return append(r[:5:5], append(records{more}, r[5:]...)...)
		},
		"a worker before its layout": func(r records) records { return append(records{r[0], r[3]}, r[1:]...) },
		"a worker after a grant":     func(r records) records { r[4], r[5] = r[5], r[4]; return r },
		"a lower high-water":         func(r records) records { r[4].GetWorker().HighWater--; return r },
		"a high-water below from":    func(r records) records { r[4].GetWorker().HighWater = 0; return r },
		"a high-water beyond time":   func(r records) records { r[4].GetWorker().HighWater = 1<<30 + 1; return r },
		"an extension without ID":    func(r records) records { r[4].GetWorker().ExtensionId = 0; return r },
		"an extension of no end":     func(r records) records { r[4].GetWorker().ExtendedFromTick = 0; return r },
		"an extension of a later end": func(r records) records {
			r[4].GetWorker().ExtendedFromTick = r[4].GetWorker().GetHighWater() + 1
			return r
		},
		"an extension after a release": func(r records) records {
			r[3].GetWorker().ExtensionId, r[3].GetWorker().ExtendedFromTick = 1, r[3].GetWorker().GetHighWater()
			return r
		},
		"an empty window": func(r records) records {
			r[4].GetWorker().HighWater = r[4].GetWorker().GetFromTick()
			r[6].GetGrant().UntilTick = r[6].GetGrant().GetFromTick()
			return r
		},
		"a negative from":     func(r records) records { r[3].GetWorker().FromTick = -1; return r },
		"no token":            func(r records) records { r[3].GetWorker().Token = 0; return r },
		"a token twice":       func(r records) records { r[3].GetWorker().Token = r[4].GetWorker().GetToken(); return r },
		"no holder":           func(r records) records { r[3].GetWorker().Holder = ""; return r },
		"a short nonce":       func(r records) records { r[3].GetWorker().NonceHash = r[3].GetWorker().GetNonceHash()[1:]; return r },
		"a grant missing":     func(r records) records { return append(r[:5:5], r[6:]...) },
		"grants out of order": func(r records) records { r[5], r[6] = r[6], r[5]; return r },
		"a grant of a worker that was never granted": func(r records) records { r[6].GetGrant().Worker = 7; return r },
		"a grant of another worker":                  func(r records) records { r[6].GetGrant().Worker = 0; return r },
		"a grant that ends elsewhere":                func(r records) records { r[6].GetGrant().UntilTick++; return r },
		"a grant that begins after its end":          func(r records) records { r[5].GetGrant().FromTick = 1 << 20; return r },
		"an older grant that overlaps": func(r records) records {
			more := proto.CloneOf(r[5])
			more.GetGrant().Token = 1
			return append(r[:5:5], append(records{more}, r[5:]...)...)
		},
		"a member twice":         func(r records) records { return append(r, r[7]) },
		"a member with no name":  func(r records) records { r[7].GetRemovedMember().Id = ""; return r },
		"a layout after members": func(r records) records { return append(append(records{r[0]}, r[2:]...), r[1]) },
	} {
		if s, err := ReadState(bytes.NewReader(reseal(t, data, edit)), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}

func TestSnapshotOfANewerBuild(t *testing.T) {
	data := snapshotBytes(t, sample(t))
	for name, newer := range map[string][]byte{
		"fsm_version": reseal(t, data, func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
			r[0].GetMeta().FsmVersion = Version + 1
			return r
		}),
		"unknown field": reseal(t, data, func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
			r[2].GetLayout().ProtoReflect().SetUnknown([]byte{0x98, 0x06, 0x01})
			return r
		}),
		"unknown record": reseal(t, data, func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
			more := &commandv1.SnapshotRecord{}
			more.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 0x00})
			return append(r, more)
		}),
		"format": func() []byte {
			header := binary.BigEndian.AppendUint32([]byte(snapshotMagic), snapshotFormat+1)
			return append(binary.BigEndian.AppendUint32(header, crc32.Checksum(header, castagnoli)), data[snapshotHeader:]...)
		}(),
	} {
		if _, err := ReadState(bytes.NewReader(newer), Version); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapshotOfANewerBuildNamesVersions reads a version above that of this build, and a field that came with that
// version. The error names the versions, which are more useful.
func TestSnapshotOfANewerBuildNamesVersions(t *testing.T) {
	newer := reseal(t, snapshotBytes(t, sample(t)), func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
		r[0].GetMeta().FsmVersion = Version + 1
		r[0].GetMeta().ProtoReflect().SetUnknown([]byte{0x98, 0x06, 0x01})
		return r
	})
	_, err := ReadState(bytes.NewReader(newer), Version)
	want := fmt.Sprintf("uses commands of fsm_version %d, and this program knows them up to fsm_version %d", Version+1, Version)
	if !errors.Is(err, ErrUnknownCommand) || !strings.Contains(err.Error(), want) {
		t.Errorf("ReadState() = %v, want ErrUnknownCommand with %q", err, want)
	}
}

func TestSnapshotRefusesHugeRecords(t *testing.T) {
	data := binary.BigEndian.AppendUint32(snapshotBytes(t, NewState())[:snapshotHeader], maxRecordBytes+1)
	if _, err := ReadState(bytes.NewReader(append(data, make([]byte, maxRecordBytes+5)...)), Version); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

var errDisk = errors.New("the disk is broken")

type brokenDisk struct{ after int }

func (b *brokenDisk) Write(p []byte) (int, error) { return b.use(len(p)) }
func (b *brokenDisk) Read(p []byte) (int, error)  { return b.use(len(p)) }
func (b *brokenDisk) use(n int) (int, error) {
	if b.after -= n; b.after < 0 {
		return 0, errDisk
	}
	return n, nil
}

func TestSnapshotReportsTheDisk(t *testing.T) {
	s := sample(t)
	if _, err := s.WriteTo(&brokenDisk{}); !errors.Is(err, errDisk) {
		t.Errorf("writing: %v", err)
	}
	data := snapshotBytes(t, s)
	for _, n := range []int{0, snapshotHeader, len(data)} {
		if _, err := ReadState(io.MultiReader(bytes.NewReader(data[:n]), &brokenDisk{}), Version); !errors.Is(err, errDisk) {
			t.Errorf("reading after %d bytes: %v", n, err)
		}
	}
}

// TestHistoryRing fills the history beyond its limit, so that it wraps.
func TestHistoryRing(t *testing.T) {
	l := newLog(t, tiny)
	first := l.must(at(epoch, acquire("a/0", 10))).Grant
	var last Grant
	for i := range int64(maxHistory + 5) {
		last = l.must(at(epoch+10+10*i, acquire("b/0", 10))).Grant
	}
	info, _ := l.LayoutInfo("tiny")
	if info.Used != 2 || len(l.layouts["tiny"].history.entries) != maxHistory {
		t.Fatalf("%d workers used, %d grants", info.Used, len(l.layouts["tiny"].history.entries))
	}
	// The last window of a worker is known however long ago it was, but not when it was granted.
	if g, ok := l.WhoIs("tiny", first.Worker, first.From); !ok || g.Token != first.Token || g.GrantedMillis != 0 {
		t.Errorf("%+v, %v, want token %d", g, ok, first.Token)
	}
	if g, ok := l.WhoIs("tiny", last.Worker, last.From-1); !ok || g.Token != last.Token-1 || g.GrantedMillis == 0 {
		t.Errorf("%+v, %v, want token %d", g, ok, last.Token-1)
	}
	if g, ok := l.WhoIs("tiny", last.Worker, 1); ok {
		t.Errorf("%+v, but that is long forgotten", g)
	}
	// An extension finds its entry in a ring that wrapped, or none.
	end := l.must(at(epoch+10*maxHistory+100, extend(last, nonceHash('b'), last.Until, 500))).Grant.Until
	if g, ok := l.WhoIs("tiny", last.Worker, end-1); !ok || g.Token != last.Token || g.Until != end {
		t.Errorf("%+v, %v, want token %d until %d", g, ok, last.Token, end)
	}
	l.must(at(epoch+10*maxHistory+100, extend(first, nonceHash('a'), first.Until, 500)))
	back, err := ReadState(bytes.NewReader(snapshotBytes(t, l.State)), Version)
	if err != nil || back.Digest() != l.Digest() {
		t.Fatalf("restored: %v", err)
	}
	again := &log{State: back, t: t, index: l.index}
	for _, both := range []*log{l, again} {
		both.must(at(epoch+20*maxHistory, acquire("c/0", 10)))
	}
	if back.Digest() != l.Digest() {
		t.Error("the restored state diverged")
	}
}

// checksummed puts correct checksums into bytes that may be a snapshot, so that fuzzing
// gets past the checksums.
func checksummed(data []byte) []byte {
	data = bytes.Clone(data)
	if len(data) < snapshotHeader {
		return data
	}
	binary.BigEndian.PutUint32(data[snapshotHeader-4:], crc32.Checksum(data[:snapshotHeader-4], castagnoli))
	sum := newRecordSum()
	for rest := data[snapshotHeader:]; len(rest) >= recordHeader; {
		length := min(int(binary.BigEndian.Uint32(rest)), len(rest)-recordHeader)
		payload := rest[recordHeader : recordHeader+length]
		rest = rest[recordHeader+length:]
		if digest := sum.hash.Sum(nil); len(rest) == 0 && len(payload) > len(digest) {
			copy(payload[len(payload)-len(digest):], digest) // the end record ends with it
		}
		binary.BigEndian.PutUint32(data[len(data)-len(rest)-length-4:], crc32.Checksum(payload, castagnoli))
		sum.addBytes(payload)
	}
	return data
}
