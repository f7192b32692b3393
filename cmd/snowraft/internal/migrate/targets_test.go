package migrate

import (
	"math"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestStatementsQuoteNames writes the statements for counters with hostile names.
func TestStatementsQuoteNames(t *testing.T) {
	t.Parallel()
	d := &departure{Counter: "it's \"`a`\"\n", next: 1200, increment: 1, most: math.MaxInt64}
	for name, want := range map[string][]string{
		"redis":    {` 1 "it's \"` + "`a`" + `\"\x0a" 1199` + "\n"},
		"postgres": {"ALTER SEQUENCE \"public\".\"it's \"\"`a`\"\"\n\" NO MAXVALUE;", "SELECT setval('\"public\".\"it''s \"\"`a`\"\"\n\"', GREATEST(1200, last_value), last_value >= 1200 AND is_called)"},
		"mysql":    {"TABLE_NAME = 'it''s \"`a`\"\n')", "CONCAT('ALTER TABLE `it''s \"``a``\"\n` AUTO_INCREMENT = ', @next)", "DROP TRIGGER IF EXISTS `moved_to_snowraft_it's \"``a``\"\n`;"},
		"leaf":     {"SET biz_tag = 'it''s \"`a`\"\n', max_id = GREATEST(max_id, 1200) WHERE biz_tag IN ('moved to snowraft: it''s \"`a`\"\n', 'it''s \"`a`\"\n');"},
		"tinyid":   {"UPDATE tiny_id_info SET biz_type = "},
		"csv":      {"\"it's \"\"`a`\"\"\n\",1199,1\n"},
	} {
		for _, target := range targets {
			if target.name != name {
				continue
			}
			if err := target.check(d); err != nil {
				t.Error(err)
			}
			for _, part := range want {
				if got := target.write(d); !strings.Contains(got, part) {
					t.Errorf("%s: %s, want %s", name, got, part)
				}
			}
		}
	}
	if err := checkSQL(1)(&departure{Counter: `a\`, next: 5, increment: 1}); err == nil {
		t.Error("a backslash, which ends no text in one sql_mode, was accepted")
	}
}

func TestDepartures(t *testing.T) {
	t.Parallel()
	gapless, daily := snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY
	for _, c := range []struct {
		sequence *snowraftv1.Sequence
		maps     []string
		counter  string
		action   string
		note     string
	}{
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1))}, nil, "a", move, ""},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1)), Moved: true}, nil, "a", moved, ""},
		{&snowraftv1.Sequence{Name: "orders/a", Next: new(int64(7)), Increment: new(int64(1))}, []string{"order:*=orders/*"}, "order:a", move, ""},
		{&snowraftv1.Sequence{Name: "order:a", Next: new(int64(7)), Increment: new(int64(1))}, []string{"order:*=orders/*"}, "", refused, "no counter of --map"},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1))}, []string{"*=a"}, "", refused, "no counter of --map"},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(5)), Format: "A{seq}"}, nil, "a", move, "numbers only"},
		{&snowraftv1.Sequence{Name: "a", Increment: new(int64(1))}, nil, "a", refused, "no number is left"},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1)), Mode: gapless}, nil, "a", refused, "gapless"},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1)), Reset_: daily}, nil, "a", refused, "each period"},
		{&snowraftv1.Sequence{Name: "a", Next: new(int64(7)), Increment: new(int64(1)), Frozen: true}, nil, "a", refused, "frozen"},
	} {
		if d := depart(c.sequence, mappingsOf(c.maps)); d.Counter != c.counter || d.Action != c.action || !strings.Contains(d.Note, c.note) {
			t.Errorf("%v with %v: %+v, want %+v", c.sequence, c.maps, d, c)
		}
	}
	for _, c := range []struct {
		next, increment int64
		least           int64
		up, last        bool
	}{
		{7, 1, 1, true, true}, {0, 1, 1, false, true}, {7, -1, 1, false, true},
		{math.MinInt64, 1, math.MinInt64, true, false}, {math.MaxInt64, -1, 1, false, false}, {math.MinInt64 + 1, 1, math.MinInt64, true, true},
	} {
		d := &departure{next: c.next, increment: c.increment}
		if up, last := d.checkUp(c.least) == nil, d.checkLast() == nil; up != c.up || last != c.last {
			t.Errorf("%+v: %v, %v", c, up, last)
		}
	}
}
