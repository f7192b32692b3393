package snowflake_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/vectors"
	"github.com/snowraft/snowraft/snowflake"
)

// vectorLayouts returns the presets and some layouts that no preset resembles.
func vectorLayouts(t *testing.T) []*snowflake.Layout {
	all := snowflake.Presets()
	for _, spec := range []snowflake.Spec{
		{Name: "wide-sequence", Fields: fields(t, "time:32,worker:9,sequence:22"), UnitMillis: 1000, EpochMillis: 1_735_689_600_000, Spread: 1 << 20},
		{Name: "two-datacenters", Fields: fields(t, "time:41,datacenter:2,worker:8,sequence:12"), UnitMillis: 1, EpochMillis: 1_735_689_600_000, Datacenter: 3, Spread: 64},
		{Name: "before-1970", Fields: fields(t, "time:40,worker:8,sequence:8"), UnitMillis: 7, EpochMillis: -1_000_000_001, Spread: 1},
		{Name: "hourly", Fields: fields(t, "time:20,sequence:30,worker:13"), UnitMillis: 3_600_000, EpochMillis: 0},
		{Name: "narrow", Fields: fields(t, "time:1,worker:1,sequence:1"), UnitMillis: 1, EpochMillis: 0},
		{Name: "only-time", Fields: fields(t, "time:63"), UnitMillis: 1, EpochMillis: 0},
	} {
		all = append(all, snowflake.MustNew(spec))
	}
	return all
}

func fields(t *testing.T, text string) []snowflake.FieldBits {
	t.Helper()
	parsed, err := snowflake.ParseFields(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// layoutJSON returns a layout as members return it.
func layoutJSON(t *testing.T, l *snowflake.Layout) json.RawMessage {
	t.Helper()
	api := rpc.Layout(l.Spec())
	api.ExhaustsAtMs = l.ExhaustsAt()
	line, err := apijson.Marshal(api)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

type partsVector struct {
	ID         uint64 `json:"id,string"`
	Tick       int64  `json:"tick,string"`
	TickAt     int64  `json:"tickAtMs,string"`
	Datacenter uint64 `json:"datacenter,string"`
	Worker     uint64 `json:"worker,string"`
	Sequence   uint64 `json:"sequence,string"`
}

type misfitVector struct {
	Tick       int64  `json:"tick,string"`
	Datacenter uint64 `json:"datacenter,string"`
	Worker     uint64 `json:"worker,string"`
	Sequence   uint64 `json:"sequence,string"`
}

type layoutVector struct {
	Layout json.RawMessage `json:"layout"`
	Issues bool            `json:"issues"`
	IDs    []partsVector   `json:"ids"`
	// Foreign IDs have bits above the layout's fields.
	Foreign []string `json:"foreign"`
	// Misfits are parts that do not fit their fields.
	Misfits []misfitVector `json:"misfits"`
	Ticks   []tickVector   `json:"ticks"`
	Starts  []startVector  `json:"starts"`
}

type tickVector struct {
	Millis int64 `json:"atMs,string"`
	Tick   int64 `json:"tick,string"`
	// TickAt is the start of that tick.
	TickAt int64 `json:"tickAtMs,string"`
}

type startVector struct {
	Tick     int64  `json:"tick,string"`
	Sequence uint64 `json:"sequence,string"`
}

func TestLayoutVectors(t *testing.T) {
	published := readPublished(t)
	random := rand.New(rand.NewPCG(1, 2))
	const now = 1_796_083_200_000 // 2026-12-01
	var all []layoutVector
	for _, l := range vectorLayouts(t) {
		v := layoutVector{Layout: layoutJSON(t, l), Issues: l.CanIssue(now) == nil, Foreign: []string{}, Misfits: []misfitVector{}}
		var most uint64 = math.MaxUint64 >> (64 - l.Bits())
		ids := []uint64{0, 1, most, most / 2, random.Uint64() & most, random.Uint64() & most}
		for _, p := range published.Vectors {
			if p.Layout == l.Name() {
				id, err := snowflake.Decimal.Decode(p.ID)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			p, err := l.Unpack(id)
			if err != nil {
				t.Fatal(err)
			}
			v.IDs = append(v.IDs, partsVector{id, p.Tick, l.MillisAt(p.Tick), p.Datacenter, p.Worker, p.Sequence})
		}
		if l.Bits() < 64 {
			for _, id := range []uint64{most + 1, math.MaxUint64} {
				if _, err := l.Unpack(id); !errors.Is(err, snowflake.ErrOutOfRange) {
					t.Errorf("%s: Unpack(%d) = %v", l.Name(), id, err)
				}
				v.Foreign = append(v.Foreign, strconv.FormatUint(id, 10))
			}
		}
		for _, p := range []snowflake.Parts{
			{Tick: -1}, {Tick: int64(min(l.Ticks(), math.MaxInt64))}, {Worker: l.Workers() + 1}, {Sequence: max(l.Sequences(), 1)}, {Datacenter: 1 << 20},
		} {
			if _, err := l.Pack(p); !errors.Is(err, snowflake.ErrOutOfRange) {
				continue // the field is as wide as its type
			}
			v.Misfits = append(v.Misfits, misfitVector(p))
		}
		epoch := l.Spec().EpochMillis
		for _, at := range []int64{epoch, epoch - 1, epoch + 1, epoch - 10_000_001, now, 0} {
			tick := l.TickAt(at)
			v.Ticks = append(v.Ticks, tickVector{at, tick, l.MillisAt(tick)})
		}
		if v.Issues {
			for _, tick := range []int64{0, 1, 2, 1000, l.TickAt(now), int64(l.Ticks() - 1), random.Int64N(int64(l.Ticks()))} {
				v.Starts = append(v.Starts, startVector{tick, l.StartSequence(tick)})
			}
		} else {
			v.Starts = []startVector{}
		}
		all = append(all, v)
	}
	vectors.Check(t, "..", "layouts.json", map[string]any{
		"about":   "Layouts, as members return them, with IDs and the values of their fields; see README.md",
		"layouts": all,
		"fields":  fieldVectors(),
	})
}

type fieldsVector struct {
	Text  string `json:"text"`
	Valid bool   `json:"valid"`
}

// fieldVectors returns texts of a layout's fields, and whether they are valid.
func fieldVectors() (all []fieldsVector) {
	for _, text := range []string{
		"time:41,worker:10,sequence:12", "time:63", "worker:1,time:62,datacenter:1", "", "time:0", "time:64", "time:041", "time:41,time:1",
		"worker:10", "time:41,worker:24", "time:41, worker:10", "Time:41", "time:+41", "time:41,", "time:41,shard:3", "time",
	} {
		_, err := snowflake.ParseFields(text)
		all = append(all, fieldsVector{text, err == nil})
	}
	return all
}

func TestEncodingVectors(t *testing.T) {
	type text map[string]string
	var texts []text
	random := rand.New(rand.NewPCG(3, 4))
	for _, id := range []uint64{0, 1, 9, 10, 31, 35, 57, 58, 61, 62, 1 << 53, math.MaxInt64, math.MaxUint64, 249786410473619464, random.Uint64(), random.Uint64() >> 20} {
		v := text{"id": strconv.FormatUint(id, 10)}
		for _, e := range snowflake.Encodings() {
			v[e.String()] = e.Encode(id)
		}
		texts = append(texts, v)
	}
	type decoding struct {
		Encoding string `json:"encoding"`
		Text     string `json:"text"`
		ID       string `json:"id,omitempty"`
		Error    string `json:"error,omitempty"`
	}
	var decodings []decoding
	for _, c := range []struct {
		e    snowflake.Encoding
		text string
	}{
		{snowflake.Decimal, "007"}, {snowflake.Hex, "0xff"}, {snowflake.Hex, "0XFF"}, {snowflake.Hex, "fF"}, {snowflake.Base32, "oOiIlL"},
		{snowflake.Base32, "zZ"}, {snowflake.Base36, "zZ"}, {snowflake.Base58, "1z"}, {snowflake.Base62, "zZ"},
		{snowflake.Decimal, strings.Repeat("0", 63) + "9"}, {snowflake.Decimal, "18446744073709551615"},
		{snowflake.Decimal, ""}, {snowflake.Decimal, "-1"}, {snowflake.Decimal, "+1"}, {snowflake.Decimal, " 1"}, {snowflake.Decimal, "1 "},
		{snowflake.Decimal, "1_000"}, {snowflake.Decimal, "1a"}, {snowflake.Decimal, "１"}, {snowflake.Hex, "0x"}, {snowflake.Hex, "g"},
		{snowflake.Hex, "0x0x1"}, {snowflake.Base32, "u"}, {snowflake.Base32, "1-2"}, {snowflake.Base58, "0"}, {snowflake.Base58, "l"}, {snowflake.Base58, "I"},
		{snowflake.Base58, "O"}, {snowflake.Base62, "é"}, {snowflake.Decimal, strings.Repeat("0", 65)}, {snowflake.Hex, "0x" + strings.Repeat("0", 63)},
		{snowflake.Decimal, "18446744073709551616"}, {snowflake.Hex, "10000000000000000"}, {snowflake.Base62, "zzzzzzzzzzz"}, {snowflake.Base58, "zzzzzzzzzzz"},
	} {
		d := decoding{Encoding: c.e.String(), Text: c.text}
		switch id, err := c.e.Decode(c.text); {
		case err == nil:
			d.ID = strconv.FormatUint(id, 10)
		case errors.Is(err, snowflake.ErrOutOfRange):
			d.Error = "range"
		default:
			d.Error = "syntax"
		}
		decodings = append(decodings, d)
	}
	vectors.Check(t, "..", "encodings.json", map[string]any{
		"about":  "Text encodings of IDs: texts holds what encoding writes and decoding reads, decode further texts and refusals; see README.md",
		"texts":  texts,
		"decode": decodings,
	})
}

func TestUUIDVectors(t *testing.T) {
	type vector struct {
		Cluster string          `json:"cluster"`
		Layout  json.RawMessage `json:"layout"`
		ID      string          `json:"id"`
		UUID    string          `json:"uuid"`
	}
	var all []vector
	random := rand.New(rand.NewPCG(5, 6))
	for _, l := range vectorLayouts(t) {
		var most uint64 = math.MaxUint64 >> (64 - l.Bits())
		for _, id := range []uint64{0, most / 2, random.Uint64() & most} {
			const cluster = "9d2f6a3e-5b1c-4d7e-8f90-a1b2c3d4e5f6"
			u, err := l.UUID(id, snowflake.NewUUIDTag(cluster, l.Name()))
			if err != nil {
				continue // a time that no UUID has
			}
			if back, err := l.FromUUID(u); err != nil || back != id {
				t.Errorf("FromUUID(%v) = %d, %v, want %d", u, back, err, id)
			}
			all = append(all, vector{cluster, layoutJSON(t, l), strconv.FormatUint(id, 10), u.String()})
		}
	}
	type refusal struct {
		Layout json.RawMessage `json:"layout"`
		UUID   string          `json:"uuid"`
		Error  string          `json:"error"`
	}
	var refusals []refusal
	hourly := vectorLayouts(t)[len(snowflake.Presets())+3]
	for _, c := range []struct {
		l    *snowflake.Layout
		text string
	}{
		{snowflake.Default(), "01939b3c-6d00-4000-8000-0123456789ab"}, // version 4
		{snowflake.Default(), "01939b3c-6d00-7000-0000-0123456789ab"}, // another variant
		{snowflake.Default(), "00000000-0000-7000-8000-0123456789ab"}, // before the epoch
		{snowflake.Default(), "ffffffff-ffff-7000-8000-0123456789ab"}, // after the end
		{hourly, "01939b3c-6d00-7000-8000-0123456789ab"},              // within a tick
		{snowflake.Default(), "01939b3c6d0070008000-0123456789ab"},
		{snowflake.Default(), "{1939b3c-6d00-7000-8000-0123456789ab}"},
		{snowflake.Default(), "01939b3c-6d00-7000-8000-0123456789ag"},
		{snowflake.Default(), ""},
	} {
		r := refusal{Layout: layoutJSON(t, c.l), UUID: c.text, Error: "syntax"}
		if u, err := snowflake.ParseUUID(c.text); err == nil {
			if id, err := c.l.FromUUID(u); !errors.Is(err, snowflake.ErrOutOfRange) {
				t.Errorf("FromUUID(%s) = %d, %v", c.text, id, err)
			}
			r.Error = "range"
		}
		refusals = append(refusals, r)
	}
	vectors.Check(t, "..", "uuids.json", map[string]any{
		"about":  "UUIDs of version 7 that hold an ID, and UUIDs that hold none of the layout; see README.md",
		"uuids":  all,
		"reject": refusals,
	})
}
