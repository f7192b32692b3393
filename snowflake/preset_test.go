package snowflake_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// published holds testdata/vectors.json: IDs that other projects have published or made, with the meaning that they
// state, and the layouts of these IDs.
type published struct {
	Vectors []struct {
		Name, Layout, ID             string
		Datacenter, Worker, Sequence uint64
		TickAtMillis                 int64 `json:"tick_at_ms"`
		Time                         time.Time
	}
	Layouts map[string]struct {
		EpochMillis int64 `json:"epoch_at_ms"`
		UnitMillis  int64 `json:"unit_ms"`
		Fields      []string
		LeaseOnly   bool `json:"lease_only"`
	}
}

func readPublished(t *testing.T) published {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var p published
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Vectors) == 0 || len(p.Layouts) == 0 {
		t.Fatal("testdata/vectors.json is empty")
	}
	return p
}

func (p published) layout(t *testing.T, name string) *snowflake.Layout {
	t.Helper()
	described, ok := p.Layouts[name]
	if !ok {
		t.Fatalf("no layout %q in testdata/vectors.json", name)
	}
	fields, err := snowflake.ParseFields(strings.Join(described.Fields, ","))
	if err != nil {
		t.Fatal(err)
	}
	l, err := snowflake.New(snowflake.Spec{
		Name: name, Fields: fields, UnitMillis: described.UnitMillis, EpochMillis: described.EpochMillis,
		LeaseOnly: described.LeaseOnly,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPublishedIDs(t *testing.T) {
	p := readPublished(t)
	for _, v := range p.Vectors {
		t.Run(v.Name+"/"+v.ID, func(t *testing.T) {
			l, ok := snowflake.Preset(v.Layout)
			if !ok {
				l = p.layout(t, v.Layout)
			}
			id, err := snowflake.Decimal.Decode(v.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Unpack(id)
			want := snowflake.Parts{
				Tick:       l.TickAt(v.TickAtMillis),
				Datacenter: v.Datacenter, Worker: v.Worker, Sequence: v.Sequence,
			}
			if err != nil || got != want {
				t.Errorf("Unpack = %+v, %v, want %+v", got, err, want)
			}
			if at := l.TimeOf(id); !at.Equal(v.Time) || at.UnixMilli() != v.TickAtMillis {
				t.Errorf("TimeOf = %v, want %v (%d ms)", at, v.Time, v.TickAtMillis)
			}
			back, err := l.Pack(want)
			if err != nil || back != id {
				t.Errorf("Pack(%+v) = %d, %v, want %d", want, back, err, id)
			}
			if text := snowflake.Decimal.Encode(back); text != v.ID {
				t.Errorf("Encode = %s, want %s", text, v.ID)
			}
		})
	}
}

func TestPresetsAreAsPublished(t *testing.T) {
	p := readPublished(t)
	for name := range p.Layouts {
		if name == "baidu-readme" { // example of the README of baidu, not a preset
			continue
		}
		l, ok := snowflake.Preset(name)
		if !ok {
			t.Errorf("no preset %q", name)
			continue
		}
		got, want := l.Spec(), p.layout(t, name).Spec()
		if got.Name != want.Name || got.EpochMillis != want.EpochMillis ||
			got.UnitMillis != want.UnitMillis || got.LeaseOnly != want.LeaseOnly || !slices.Equal(got.Fields, want.Fields) {
			t.Errorf("preset %+v, published %+v", got, want)
		}
	}
}

func TestPresets(t *testing.T) {
	want := []string{
		"baidu", "cap", "cosid", "default", "discord", "hutool", "instagram", "jssafe",
		"leaf", "mastodon", "mybatis", "netease", "sonyflake", "tsid", "twitter", "yitter",
	}
	all := snowflake.Presets()
	var names []string
	for _, l := range all {
		names = append(names, l.Name())
		if got, ok := snowflake.Preset(l.Name()); !ok || got != l {
			t.Errorf("Preset(%q) = %v, %v", l.Name(), got, ok)
		}
		spread, known := map[string]uint64{
			"baidu": 2048, "cap": 0, "instagram": 256, "jssafe": 64, "mastodon": 16_384, "sonyflake": 64, "tsid": 0, "yitter": 64,
		}[l.Name()]
		if !known {
			spread = 1024
		}
		if s := l.Spec(); s.Spread != spread || s.Datacenter != 0 {
			t.Errorf("%s: spread %d, datacenter %d, want %d, 0", l.Name(), s.Spread, s.Datacenter, spread)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("Presets() = %v, want %v", names, want)
	}
	all[0] = nil
	if snowflake.Presets()[0] == nil {
		t.Error("a caller can change the presets")
	}
	for _, name := range []string{"", "Default", "a", "zzz"} {
		if l, ok := snowflake.Preset(name); ok || l != nil {
			t.Errorf("Preset(%q) = %v, %v, want none", name, l, ok)
		}
	}
}

func TestPresetsThatIssue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	reasons := map[string]error{
		"baidu":     snowflake.ErrExhausted,
		"cap":       snowflake.ErrInvalidLayout, // only leases
		"discord":   snowflake.ErrInvalidLayout, // 64 bits
		"instagram": snowflake.ErrInvalidLayout, // 64 bits
		"mastodon":  snowflake.ErrInvalidLayout, // 64 bits, and no worker
		"tsid":      snowflake.ErrInvalidLayout, // only leases
	}
	for _, l := range snowflake.Presets() {
		if err := l.CanIssue(now); !errors.Is(err, reasons[l.Name()]) {
			t.Errorf("%s: CanIssue in 2026: %v, want %v", l.Name(), err, reasons[l.Name()])
		}
	}
}

func TestBaiduIsExhausted(t *testing.T) {
	l, _ := snowflake.Preset("baidu")
	last := time.Date(2024, 11, 20, 13, 24, 15, 0, time.UTC)

	lastTick := int64(l.Ticks() - 1)
	if got := l.MillisAt(lastTick); got != last.UnixMilli() {
		t.Errorf("the last tick starts at %v, want %v", time.UnixMilli(got).UTC(), last)
	}
	if got, want := l.ExhaustsAt(), last.Add(time.Second).UnixMilli(); got != want {
		t.Errorf("ExhaustsAt() = %d, want %d", got, want)
	}
	if err := l.CanIssue(l.ExhaustsAt() - 1); err != nil {
		t.Errorf("CanIssue in the last millisecond: %v", err)
	}
	err := l.CanIssue(l.ExhaustsAt())
	if !errors.Is(err, snowflake.ErrExhausted) || !strings.Contains(err.Error(), "full since 2024-11-20T13:24:16.000Z") {
		t.Errorf("CanIssue when full: %v, want ErrExhausted", err)
	}
	if _, err := l.Pack(snowflake.Parts{Tick: lastTick + 1}); !errors.Is(err, snowflake.ErrOutOfRange) {
		t.Errorf("Pack the tick after the last: %v, want ErrOutOfRange", err)
	}
}
