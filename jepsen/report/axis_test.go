package report

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]struct {
		count int
		last  string
	}{
		1:                               {1, "0.0 s"},
		time.Second:                     {10, "0.9 s"},
		15*time.Second + 1:              {8, "14 s"},
		10 * time.Minute:                {10, "9:00"},
		2*time.Hour + 1:                 {9, "2:00:00"},
		100 * 24 * time.Hour:            {mostTicks, "264:00:00"},
		3*time.Minute + 20*time.Second:  {7, "3:00"},
		time.Duration(5900) * time.Hour: {mostTicks, "264:00:00"},
	} {
		d := &digest{Run: &check.Run{}, zero: origin, end: origin + int64(length)}
		got := d.ticks()
		if len(got) != want.count || got[len(got)-1].Text != want.last {
			t.Errorf("ticks of %v = %v, want %d up to %q", length, got, want.count, want.last)
		}
		for i, tick := range got {
			if tick.X < 0 || tick.X > plotWidth || i > 0 && tick.X <= got[i-1].X {
				t.Errorf("ticks of %v = %v, want them inside of the plot and ascending", length, got)
			}
		}
	}
}

func TestSignedMarks(t *testing.T) {
	t.Parallel()
	for most, want := range map[time.Duration]string{
		0:                      "0 +100ms -100ms ",
		100 * time.Millisecond: "0 +100ms -100ms ",
		20 * time.Second:       "0 +1m -1m +10s -10s +1s -1s +100ms -100ms ",
		time.Hour:              "0 +1h -1h +1m -1m +1s -1s +100ms -100ms ",
	} {
		got := ""
		for _, mark := range signed(most).marks {
			got += signedText(mark) + " "
		}
		if got != want {
			t.Errorf("marks of signed(%v) = %q, want %q", most, got, want)
		}
	}
}

func TestScales(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scale scale
		value float64
		want  string
	}{
		"linear, below":          {linear(1100, 150), -1, "150"},
		"linear, half":           {linear(1100, 150), 600, "75"},
		"linear, the top":        {linear(1100, 150), 1200, "0"},
		"linear of nothing":      {linear(0, 150), 0, "150"},
		"logarithmic, the least": {logarithmic(time.Millisecond, time.Second, 90), 1e6, "90"},
		"logarithmic, a decade":  {logarithmic(time.Millisecond, time.Second, 90), 1e7, "60"},
		"logarithmic, one value": {logarithmic(time.Millisecond, time.Millisecond, 90), 1e7, "0"},
		"signed, zero":           {signed(time.Hour), 0, "80"},
		"signed, the top":        {signed(3000 * time.Hour), 1e30, "0"},
	} {
		if got := c.scale.y(c.value).String(); got != c.want {
			t.Errorf("%s: y() = %s, want %s", name, got, c.want)
		}
	}
	if up, down := signed(time.Hour).y(1e12), signed(time.Hour).y(-1e12); up+down != clockHeight || up >= clockHeight/2 {
		t.Errorf("y() of +1000 s and -1000 s = %v, %v, want them symmetric around the middle", up, down)
	}
}
