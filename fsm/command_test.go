package fsm

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// framed makes a log entry with a right checksum of any payload.
func framed(payload []byte) []byte {
	data := append([]byte{entryFormat, 0, 0, 0, 0}, payload...)
	binary.BigEndian.PutUint32(data[1:], crc32.Checksum(payload, castagnoli))
	return data
}

func TestEncodeDecode(t *testing.T) {
	cmd := at(epoch, acquire("a/0", 2000))
	data, err := Encode(cmd)
	if err != nil {
		t.Fatal(err)
	}
	// These bytes are in logs on disk: they never change.
	const want = "01385a2ed308011080f8a5f9c1325a300a0474696e791203612f301a20616161616161616161616161616161616161616161616161616161616161616120d00f"
	if got := hex.EncodeToString(data); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	back, err := Decode(data)
	if err != nil || !proto.Equal(back, cmd) {
		t.Errorf("%v, %v, want %v", back, err, cmd)
	}
}

func TestDecodeFindsEveryDamage(t *testing.T) {
	data, err := Encode(at(epoch, acquire("a/0", 2000)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for bit := range 8 {
			damaged := append([]byte(nil), data...)
			damaged[i] ^= 1 << bit
			if cmd, err := Decode(damaged); !errors.Is(err, ErrCorrupt) {
				t.Errorf("bit %d of byte %d flipped: %v, %v", bit, i, cmd, err)
			}
		}
		if cmd, err := Decode(data[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut off after %d bytes: %v, %v", i, cmd, err)
		}
	}
	if _, err := Decode(append(data, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
	if _, err := Decode(framed([]byte{0xff})); !errors.Is(err, ErrCorrupt) {
		t.Errorf("no protobuf: %v", err)
	}
}

func TestUnknownCommands(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1)
	body := func(number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	nested := body(1, body(2, unknown)) // CreateLayout.spec.fields
	for name, payload := range map[string][]byte{
		"empty":                  nil,
		"no body":                protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1),
		"unknown body":           body(500, nil),
		"unknown field":          append(body(14, nil), unknown...),
		"unknown field in it":    body(14, unknown),
		"unknown field in lists": body(10, nested),
		"unknown enum value":     body(15, body(1, protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 77))),
	} {
		if cmd, err := Decode(framed(payload)); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %v, %v", name, cmd, err)
		}
		cmd := &commandv1.Command{}
		if err := proto.Unmarshal(payload, cmd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Encode(cmd); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: encoded, %v", name, err)
		}
	}
	if _, err := Encode(removeMember("\xff")); err == nil {
		t.Error("a string that is not UTF-8 was encoded")
	}
}

// TestEveryCommandHasAKind fails when a command was added to the protocol and not to
// the table.
func TestEveryCommandHasAKind(t *testing.T) {
	fields := commandBody.Fields()
	for i := range fields.Len() {
		k, ok := kinds[fields.Get(i).Number()]
		if !ok || k.apply == nil || k.since < firstVersion || k.since > Version {
			t.Errorf("%s: %+v, %v", fields.Get(i).Name(), k, ok)
		}
	}
	if len(kinds) != fields.Len() {
		t.Errorf("%d kinds, want %d", len(kinds), fields.Len())
	}
	if v := MinVersion(acquire("a", 1)); v != 1 {
		t.Errorf("AcquireWorker has version %d, want 1", v)
	}
	if v := MinVersion(&commandv1.Command{}); v != math.MaxUint32 {
		t.Errorf("no body: version %d, want one that no build supports", v)
	}
}

func FuzzDecode(f *testing.F) {
	for _, cmd := range []*commandv1.Command{
		acquire("a/0", 1), createLayout(tiny), observe(true), checkpoint(1, nonceHash(1)), removeMember("x"),
		create(plain("s"), 0), create(plain("t", func(s *commandv1.SequenceSpec) { s.Description = "a\x00\u2028b" }), 0), set(plain("s"), 2, 7), remove("s"), withID(allocate("s", 2, 5, 20250101), "r"), giveBack("s", 3, 1),
	} {
		data, err := Encode(at(epoch, cmd))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[entryHeader:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, entry := range [][]byte{data, framed(data)} {
			cmd, err := Decode(entry)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnknownCommand) {
					t.Errorf("an error of no kind: %v", err)
				}
				continue
			}
			again, err := Encode(cmd)
			if err != nil {
				t.Fatalf("decoded but not encoded: %v", err)
			}
			if back, err := Decode(again); err != nil || !proto.Equal(cmd, back) {
				t.Fatalf("%v, %v, want %v", back, err, cmd)
			}
			s := newLog(t, tiny)
			s.must(create(plain("s"), 0))
			s.take("s", 10, 0)
			s.do(cmd)
			if _, err := ReadState(readerOf(snapshotBytes(t, s.State)), math.MaxUint32); err != nil {
				t.Fatalf("after %v: %v", cmd, err)
			}
		}
	})
}
