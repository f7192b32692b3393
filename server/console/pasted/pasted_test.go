package pasted_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/snowraft/snowraft/server/console/pasted"
	"github.com/snowraft/snowraft/snowflake"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).UnixMilli()

// orders returns a layout that differs from all presets.
func orders(t testing.TB) *snowflake.Layout {
	fields, err := snowflake.ParseFields("time:39,datacenter:2,worker:8,sequence:12")
	if err != nil {
		t.Fatal(err)
	}
	return snowflake.MustNew(snowflake.Spec{Name: "orders", Fields: fields, UnitMillis: 10, EpochMillis: now - 100*86_400_000, Datacenter: 1})
}

func layouts(t testing.TB) pasted.Layouts {
	return pasted.Layouts{Own: []*snowflake.Layout{snowflake.Default(), orders(t)}, ClusterID: "cluster-1", Now: now}
}

func issue(t testing.TB, l *snowflake.Layout, at int64, p snowflake.Parts) uint64 {
	p.Tick, p.Datacenter = l.TickAt(at), l.Spec().Datacenter
	id, err := l.Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestReadsEveryEncodingOfAnID(t *testing.T) {
	id := issue(t, snowflake.Default(), now-60_000, snowflake.Parts{Worker: 3, Sequence: 9})
	for _, e := range snowflake.Encodings() {
		text := e.Encode(id)
		for _, given := range []string{text, " " + text + "\n", `"` + text + `"`} {
			all, err := pasted.Read(given, "", "", layouts(t))
			if err != nil {
				t.Errorf("%v: Read(%q): %v", e, given, err)
				continue
			}
			if r := all[0]; r.ID != id || r.Encoding != e.String() || !r.Own || r.Layout.Name() != "default" || r.Parts.Worker != 3 || r.At != now-60_000 || r.Doubt != "" {
				t.Errorf("%v: Read(%q) = %+v, want ID %d of layout default without doubt", e, given, r, id)
			}
		}
		if all, err := pasted.Read(text, e.String(), "default", layouts(t)); err != nil || len(all) != 1 || all[0].ID != id {
			t.Errorf("%v: Read(%q) in one encoding and layout = %+v, %v", e, text, all, err)
		}
	}
	if all, err := pasted.Read("0x"+snowflake.Hex.Encode(id), "", "", layouts(t)); err != nil || all[0].Encoding != "hex" || all[0].ID != id {
		t.Errorf("with 0x: %+v, %v", all, err)
	}
}

func TestPrefersLikelyReadings(t *testing.T) {
	own := issue(t, orders(t), now-1000, snowflake.Parts{Worker: 7})
	foreign := issue(t, orders(t), now-1000, snowflake.Parts{Worker: 7}) + 1<<20 // another datacenter
	for _, c := range []struct{ text, layout, doubt string }{
		{snowflake.Decimal.Encode(own), "orders", ""},
		{"175928847299117063", "discord", ""},     // example from Discord's documentation; in the default layout it is from 2026
		{"1541815603606036480", "twitter", ""},    // issued in 2022; the default layout would mean 2036
		{"12", "default", "so the number is too"}, // too small for any layout
		{snowflake.Decimal.Encode(foreign), "", ""},
	} {
		all, err := pasted.Read(c.text, "", "", layouts(t))
		if err != nil {
			t.Fatalf("Read(%q): %v", c.text, err)
		}
		found := false
		for _, r := range all {
			found = found || r.Layout.Name() == c.layout && strings.Contains(r.Doubt, c.doubt) && (c.doubt != "" || r.Doubt == "")
		}
		if c.layout != "" && !found {
			t.Errorf("Read(%q) = %+v, want a reading in layout %q", c.text, all, c.layout)
		}
		for i := range all[1:] {
			if all[i].Doubt != "" && all[i+1].Doubt == "" {
				t.Errorf("Read(%q) has a doubtful reading before one without doubt: %+v", c.text, all)
			}
		}
	}
	all, err := pasted.Read(snowflake.Decimal.Encode(foreign), "", "orders", layouts(t))
	if err != nil || !strings.Contains(all[0].Doubt, "datacenter is 2") {
		t.Errorf("ID of another datacenter = %+v, %v", all, err)
	}
	big := "9999999999999999999" // 64 bits: only in systems with unsigned IDs
	if all, err := pasted.Read(big, "", "", layouts(t)); err != nil || all[0].Own {
		t.Errorf("Read(%q) = %+v, %v, want layouts of 64 bits", big, all, err)
	}
}

func TestReadsUUIDsOfTheCluster(t *testing.T) {
	id := issue(t, snowflake.Default(), now-1000, snowflake.Parts{Worker: 3, Sequence: 9})
	uuid := func(cluster string) string {
		u, err := snowflake.Default().UUID(id, snowflake.NewUUIDTag(cluster, "default"))
		if err != nil {
			t.Fatal(err)
		}
		return u.String()
	}
	read := func(text string, of pasted.Layouts) pasted.Reading {
		t.Helper()
		all, err := pasted.Read(text, "", "", of)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	if r := read(strings.ToUpper(uuid("cluster-1")), layouts(t)); r.ID != id || !r.Certain || r.Encoding != pasted.UUID || r.Layout.Name() != "default" {
		t.Errorf("UUID of the cluster = %+v, want ID %d, certain", r, id)
	}
	if r := read(uuid("cluster-2"), layouts(t)); r.Certain || !strings.Contains(r.Doubt, "another system") {
		t.Errorf("UUID of another cluster = %+v, want a doubt", r)
	}
	unknown := layouts(t)
	unknown.ClusterID = ""
	if r := read(uuid("cluster-2"), unknown); r.Certain || r.Doubt != "" {
		t.Errorf("UUID without knowing the cluster = %+v, want neither certain nor a doubt", r)
	}
}

func TestErrorsAreForPeople(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "no ID in this text",
		` "" `:                                 "no ID in this text",
		strings.Repeat("1", 65):                "the text has 65 characters",
		"hello world":                          "no encoding has the character ' '; paste one ID",
		"12.5\xff":                             "no encoding has the character '.'",
		"99999999999999999999":                 "exceeds 64 bits",
		"0xzz":                                 "", // digits of base62
		"f47ac10b-58cc-4372-a567-0e02b2c3d479": "version 4",
		"not-a-uuid":                           "expected 36",
		"01020304-6d00-7000-8000-0123456789ab": "fits no layout of this cluster",
	} {
		all, err := pasted.Read(text, "", "", layouts(t))
		if want == "" && err == nil && len(all) > 0 {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "snowflake:") {
			t.Errorf("Read(%q) = %+v, %v, want an error with %q", text, all, err, want)
		}
	}
	if _, err := pasted.Read("1", "", "nope", layouts(t)); err == nil || !strings.Contains(err.Error(), `layout "nope" is neither`) {
		t.Errorf("unknown layout: %v", err)
	}
	if _, err := pasted.Read("1", "base64", "", layouts(t)); err == nil || !strings.Contains(err.Error(), "base64") {
		t.Errorf("unknown encoding: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"1", "175928847299117063", "0xff", "01939b3c-6d00-7000-8000-0123456789ab", `"Jos2sncHm1"`, "\xff", "-"} {
		f.Add(text, "", "")
	}
	of := layouts(f)
	f.Fuzz(func(t *testing.T, text, encoding, layout string) {
		all, err := pasted.Read(text, encoding, layout, of)
		if (err == nil) == (len(all) == 0) || len(all) > pasted.MaxReadings {
			t.Fatalf("Read(%q) = %+v, %v", text, all, err)
		}
		if err != nil && len(err.Error()) > 1000 || err != nil && !utf8.ValidString(err.Error()) {
			t.Fatalf("error %q", err)
		}
		for _, r := range all {
			if p, err := r.Layout.Unpack(r.ID); err != nil || p != r.Parts {
				t.Fatalf("Read(%q) = %+v, want parts %+v, %v", text, r, p, err)
			}
		}
	})
}
