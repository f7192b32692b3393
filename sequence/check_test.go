package sequence_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/sequence"
)

func TestCheckFormat(t *testing.T) {
	for _, c := range []struct {
		format string
		reset  sequence.Reset
		years  sequence.YearStart
		want   string // text of the error; empty if there is none
	}{
		{"{seq}", sequence.ResetNone, 0, ""},
		{"{date:yyyyMMdd}{seq}", sequence.ResetDaily, 0, ""},
		{"{date:dd}{seq}{date:yyyyMM}", sequence.ResetDaily, 0, ""},
		{"{date:yy}{dayofyear}{seq}", sequence.ResetDaily, 0, ""},
		{"{date:yyyyMMdd}{seq}", sequence.ResetYearly, 0, ""},
		{"{date:yyyyMM}{seq}", sequence.ResetMonthly, 0, ""},
		{"{date:yyyy}{seq}", sequence.ResetYearly, 0, ""},
		{"{date:yyMMdd}{seq}", sequence.ResetDaily, 0, ""},
		{"E{date:yy}-{seq:04}", sequence.ResetYearly, 0, ""},
		{"{seq}", sequence.ResetDaily, 0, "writes 2026-01-01, in the period of 2026-01-01, like 2026-01-02, in the period of 2026-01-02; add {date:yyyyMMdd}, or set"},
		{"{date:yyyyMM}{seq}", sequence.ResetDaily, 0, "like 2026-01-02"},
		{"{date:yyyydd}{seq}", sequence.ResetMonthly, 0, "writes 2026-01-01, in the period of 2026-01-01, like 2026-02-01, in the period of 2026-02-01; add {date:yyyyMM}"},
		{"{date:MMdd}{seq}", sequence.ResetYearly, 0, "add {date:yyyy}"},

		// Spring of one fiscal year and winter of the year before are in one calendar year.
		{"{date:yyyy}-{seq}", sequence.ResetYearly, 401, "writes 2026-01-01, in the period of 2025-04-01, like 2026-04-01, in the period of 2026-04-01; add {fy}"},
		{"{date:yyyyMM}-{seq}", sequence.ResetYearly, 401, ""},
		{"{date:yyyyMM}-{seq}", sequence.ResetYearly, 406, "writes 2026-04-01, in the period of 2025-04-06, like 2026-04-06"},
		{"{date:yyyy}{quarter}-{seq}", sequence.ResetYearly, 401, ""},
		{"{fy}-{seq}", sequence.ResetYearly, 401, ""},
		{"{fy:yyyy-yy}-{seq}", sequence.ResetYearly, 406, ""},
		{"{fy:yy}{quarter}-{seq}", sequence.ResetQuarterly, 701, ""},
		{"{fy}-{seq}", sequence.ResetQuarterly, 701, "add {fy}{quarter}"},
		{"{date:yyyy}{quarter}-{seq}", sequence.ResetQuarterly, 0, ""},
		{"{date:yyyy}{quarter}-{seq}", sequence.ResetQuarterly, 406, "writes 2026-01-01, in the period of 2025-10-06, like 2026-10-06"},
		{"{date:yyyyMM}-{seq}", sequence.ResetQuarterly, 401, ""},
		{"{fy}{date:MM}-{seq}", sequence.ResetMonthly, 401, ""},
		{"{fy}{date:MM}-{seq}", sequence.ResetMonthly, 406, "writes 2026-04-06, in the period of 2026-04-01, like 2027-04-01"},
		{"{fy}{date:MM}-{seq}", sequence.ResetYearly, 406, ""},

		// The first week of a year may begin in the year before, and the last one end in the year after.
		{"{weekyear}W{week}-{seq}", sequence.ResetWeekly, 0, ""},
		{"{weekyear:yy}W{week}-{seq}", sequence.ResetWeekly, 401, ""},
		{"{date:yyyy}W{week}-{seq}", sequence.ResetWeekly, 0, "in the period of 2027-12-27, like 2028-12-25, in the period of 2028-12-25; add {weekyear}{week}"},
		{"{weekyear}-{seq}", sequence.ResetYearly, 0, "writes 2026-01-01, in the period of 2026-01-01, like 2027-01-01"},
		{"{date:yyyyMM}W{week}-{seq}", sequence.ResetWeekly, 0, ""},
		{"{date:yyyyMMdd}-{seq}", sequence.ResetWeekly, 0, ""},
		{"{weekyear}{week}{date:dd}-{seq}", sequence.ResetDaily, 0, ""},
	} {
		cal := sequence.Calendar{Reset: c.reset, YearStarts: c.years}
		f, err := cal.ParseFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		err = cal.CheckFormat(f)
		if c.want == "" && err == nil {
			continue
		}
		if !errors.Is(err, sequence.ErrInvalidFormat) || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %v from %v on: error %v, want %q", c.format, c.reset, c.years, err, c.want)
		}
	}
	if err := calendar(sequence.ResetDaily).CheckFormat(nil); err != nil {
		t.Errorf("no format: %v", err)
	}
}

// The parts that CheckFormat proposes distinguish the periods.
func TestCheckFormatProposesParts(t *testing.T) {
	for _, reset := range resets {
		for _, years := range yearStarts {
			cal := sequence.Calendar{Reset: reset, YearStarts: years}
			err := cal.CheckFormat(parse(t, "{seq}"))
			_, after, _ := strings.Cut(fmt.Sprint(err), "; add ")
			proposed, _, _ := strings.Cut(after, ", or")
			f, err := cal.ParseFormat(proposed + "-{seq}")
			if err != nil {
				t.Fatal(err)
			}
			if err := cal.CheckFormat(f); err != nil {
				t.Errorf("%+v: %v", cal, err)
			}
		}
	}
}

// packed lists the parts of dates in a packed text, with years of two and of four digits, and their bits: a year is one of 400.
var packed = [...]struct {
	short, long string
	bits        int
}{
	{"date:yy", "date:yyyy", 9}, {"fy:yy", "fy", 9}, {"weekyear:yy", "weekyear", 9},
	{"date:MM", "date:MM", 4}, {"date:dd", "date:dd", 5}, {"quarter", "quarter", 3}, {"week", "week", 6}, {"dayofyear", "dayofyear", 9},
}

// mask returns the bits of a set of parts.
func mask(set uint) (bits uint64) {
	shift := 0
	for part, p := range packed {
		if set>>part&1 != 0 {
			bits |= (1<<p.bits - 1) << shift
		}
		shift += p.bits
	}
	return bits
}

func pack(parts [len(packed)]int) (text uint64) {
	shift := 0
	for part, p := range packed {
		text |= uint64(parts[part]) & (1<<p.bits - 1) << shift
		shift += p.bits
	}
	return text
}

// counted holds all days of four centuries, after which the calendar repeats.
type counted struct {
	long, short []uint64 // texts of all parts, with years of four and of two digits
	periods     []int32  // day on which the period of each day begins
}

// count counts the days of a calendar from 2000-01-01 on, without the package. It begins a year earlier, to know the periods of the
// first days.
func count(c sequence.Calendar) (all counted) {
	start := max(int(c.YearStarts), 101)
	year, m, d, dayOfYear := 1999, 1, 1, 1
	fiscal, quarter, weekYear, week := 0, 0, 0, 0
	begins := map[sequence.Reset]int32{}
	for n := range int32(365 + 146_097) {
		begins[sequence.ResetDaily] = n
		if n%7 == 3 { // 1999-01-04 was a Monday
			begins[sequence.ResetWeekly] = n
			week++
			if m == 12 && d >= 29 || m == 1 && d <= 4 { // the week of January 4 is the first one
				weekYear, week = year+m/12, 1
			}
		}
		if d == 1 {
			begins[sequence.ResetMonthly] = n
		}
		if d == start%100 && (m+12-start/100)%3 == 0 {
			begins[sequence.ResetQuarterly] = n
			quarter++
		}
		if m*100+d == start {
			begins[sequence.ResetYearly] = n
			fiscal, quarter = year, 1
			if start > 101 {
				fiscal++
			}
		}
		if n >= 365 {
			all.long = append(all.long, pack([...]int{year, fiscal, weekYear, m, d, quarter, week, dayOfYear}))
			all.short = append(all.short, pack([...]int{year % 100, fiscal % 100, weekYear % 100, m, d, quarter, week, dayOfYear}))
			all.periods = append(all.periods, begins[c.Reset])
		}
		d, dayOfYear = d+1, dayOfYear+1
		leap := m == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0)
		if last := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]; d > last && !(leap && d == 29) {
			m, d = m+1, 1
		}
		if m > 12 {
			year, m, dayOfYear = year+1, 1, 1
		}
	}
	return all
}

// century is a hundred years of weeks in days, at most as long as any hundred years.
const century = 5217 * 7

// distinct reports whether no two periods have a text of the set in common or, with years of two digits, no two periods less than
// 100 years apart.
func (all counted) distinct(set uint, short bool) bool {
	texts := all.long
	if short {
		texts = all.short
	}
	bits, last := mask(set), make(map[uint64]int32, 1<<17)
	for n, text := range texts {
		period := all.periods[n]
		before, found := last[text&bits]
		if found && before != period && (!short || period-before < century) {
			return false
		}
		last[text&bits] = period
	}
	return true
}

// CheckFormat accepts the formats whose texts of two periods always differ, and no others: for every set of parts, in
// four centuries.
func TestCheckFormatByBruteForce(t *testing.T) {
	t.Parallel()
	for _, years := range yearStarts[:depth.Of(3, len(yearStarts))] {
		for _, reset := range resets {
			t.Run(fmt.Sprintf("%v from %v", reset, years), func(t *testing.T) {
				t.Parallel()
				cal := sequence.Calendar{Reset: reset, YearStarts: years}
				days := count(cal)
				for _, short := range []bool{false, true} {
					checkAllSets(t, cal, days, short)
				}
			})
		}
	}
}

func checkAllSets(t *testing.T, cal sequence.Calendar, days counted, short bool) {
	var distinct [1 << len(packed)]bool
	accepted := 0
	for set := range uint(len(distinct)) {
		// A text that has another part distinguishes no fewer periods.
		for part := range len(packed) {
			distinct[set] = distinct[set] || set>>part&1 != 0 && distinct[set&^(1<<part)]
		}
		distinct[set] = distinct[set] || days.distinct(set, short)
		if distinct[set] {
			accepted++
		}
		f, err := cal.ParseFormat(formatOf(set, short))
		if err != nil {
			t.Fatal(err)
		}
		if err := cal.CheckFormat(f); (err == nil) != distinct[set] {
			t.Errorf("%+v: %q distinguishes all periods: %v, but CheckFormat returns %v", cal, f, distinct[set], err)
		}
	}
	if accepted == 0 || accepted == len(distinct) {
		t.Errorf("%d of %d sets distinguish the periods", accepted, len(distinct))
	}
}

func formatOf(set uint, short bool) string {
	var text strings.Builder
	for part, p := range packed {
		switch {
		case set>>part&1 == 0:
		case short:
			text.WriteString("{" + p.short + "}")
		default:
			text.WriteString("{" + p.long + "}")
		}
	}
	return text.String() + "{seq}"
}

// Formats that CheckFormat accepts never write two periods alike: at both ends of the periods, at random moments, and where a clock
// shows another period, in zones with odd days. All tries together are 10,000 formats.
func TestTextsOfPeriodsDiffer(t *testing.T) {
	t.Parallel()
	const perTry = 100
	sets := depth.Of(10, perTry)
	seed.Check(t, func(t *rapid.T) {
		for range sets {
			cal, parts := drawAccepted(t)
			loc := drawZone(t)
			for range perTry / sets {
				text, _ := drawFormat(t, cal.YearStarts, parts...)
				f, err := cal.ParseFormat(text)
				if err != nil {
					t.Fatal(err)
				}
				checkTexts(t, cal, f, loc)
			}
		}
	})
}

// drawAccepted draws a calendar, and parts of dates that distinguish its periods.
func drawAccepted(t *rapid.T) (cal sequence.Calendar, parts []string) {
	for {
		cal, parts = drawCalendar(t), drawParts(t)
		f, err := cal.ParseFormat("{" + strings.Join(append(slices.Clone(parts), "seq"), "}{") + "}")
		if err != nil {
			t.Fatal(err)
		}
		if cal.CheckFormat(f) == nil {
			return cal, parts
		}
	}
}

// checkTexts checks that no text of f has two pairs of period and number. The years are few and of one century, and the
// numbers are few, so that texts that could repeat do repeat.
func checkTexts(t *rapid.T, cal sequence.Calendar, f *sequence.Format, loc *time.Location) {
	type pair struct {
		period sequence.Period
		number int64
	}
	moment := func() time.Time {
		year := rapid.SampledFrom([]int{1926, 1927, 2011, 2012, 2018, 2019, 2020, 2024}).Draw(t, "year")
		return time.Date(year, 1, 1, 0, 0, 0, 0, loc).Add(time.Duration(rapid.Int64Range(0, 366*24*60).Draw(t, "minutes")) * time.Minute)
	}
	seen := map[string]pair{}
	for range 3 {
		p, number := cal.PeriodAt(moment()), rapid.Int64Range(-1, 11).Draw(t, "number")
		for _, at := range []time.Time{p.Start(loc), cal.PeriodEnd(p, loc).Add(-1), moment(), moment()} {
			for _, this := range []pair{{p, number}, {cal.PeriodAt(at), number}} {
				written := string(f.Append(nil, this.number, cal.Clamp(at, this.period)))
				// The same number in one period may have many texts, but one text has only one number and period.
				if other, found := seen[written]; found && other != this {
					t.Fatalf("%s of %+v writes both %v and %v as %q", f, cal, other, this, written)
				}
				seen[written] = this
			}
		}
	}
}
