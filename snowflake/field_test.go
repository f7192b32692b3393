package snowflake_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

func TestFieldNames(t *testing.T) {
	for field, name := range map[snowflake.Field]string{
		snowflake.FieldTime:       "time",
		snowflake.FieldDatacenter: "datacenter",
		snowflake.FieldWorker:     "worker",
		snowflake.FieldSequence:   "sequence",
	} {
		if got := field.String(); got != name {
			t.Errorf("Field %d is %q, want %q", uint8(field), got, name)
		}
		if got, err := snowflake.ParseField(name); err != nil || got != field {
			t.Errorf("ParseField(%q) = %v, %v, want %v", name, got, err, field)
		}
	}
	for _, name := range []string{"", "Time", "time ", "clock", "Field(0)"} {
		if got, err := snowflake.ParseField(name); !errors.Is(err, snowflake.ErrSyntax) {
			t.Errorf("ParseField(%q) = %v, %v, want ErrSyntax", name, got, err)
		}
	}
	for field, want := range map[snowflake.Field]string{0: "Field(0)", 5: "Field(5)", 255: "Field(255)"} {
		if got := field.String(); got != want {
			t.Errorf("Field %d is %q, want %q", uint8(field), got, want)
		}
	}
}

func TestParseFields(t *testing.T) {
	for text, want := range map[string][]snowflake.FieldBits{
		"time:63":          {{Field: snowflake.FieldTime, Bits: 63}},
		"time:1":           {{Field: snowflake.FieldTime, Bits: 1}},
		"worker:1,time:63": {{Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldTime, Bits: 63}},
		"time:42,datacenter:5,worker:5,sequence:12": {
			{Field: snowflake.FieldTime, Bits: 42}, {Field: snowflake.FieldDatacenter, Bits: 5},
			{Field: snowflake.FieldWorker, Bits: 5}, {Field: snowflake.FieldSequence, Bits: 12},
		},
	} {
		got, err := snowflake.ParseFields(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseFields(%q) = %v, %v, want %v", text, got, err, want)
		}
		if back := snowflake.FormatFields(got); back != text {
			t.Errorf("FormatFields(%v) = %q, want %q", got, back, text)
		}
	}
}

func TestParseFieldsRefuses(t *testing.T) {
	for text, complaint := range map[string]string{
		"":                              `"": expected a field and its width`,
		"time":                          `"time": expected a field and its width`,
		"time:41,":                      `"": expected a field and its width`,
		",time:41":                      `"": expected a field and its width`,
		"clock:41":                      `unknown field "clock"`,
		" time:41":                      `unknown field " time"`,
		"time:41, worker:10":            `unknown field " worker"`,
		"time:":                         `"" is not a width for time`,
		"time:0":                        `"0" is not a width for time`,
		"time:041":                      `"041" is not a width for time`,
		"time:+41":                      `"+41" is not a width for time`,
		"time:-1":                       `"-1" is not a width for time`,
		"time:4_1":                      `"4_1" is not a width for time`,
		"time:41:2":                     `"41:2" is not a width for time`,
		"time:256":                      `"256" is not a width for time`,
		"time:64":                       "time has 64 bits, expected 1 to 63",
		"time:41,time:1":                "time appears more than once",
		"worker:10,sequence:12":         "no time field",
		"time:41,worker:14,sequence:10": "65 bits",
		"time:63,worker:63":             "126 bits",
		"time:1,worker:1,sequence:1,datacenter:1,time:1": "more than 4 fields",
	} {
		got, err := snowflake.ParseFields(text)
		if !errors.Is(err, snowflake.ErrInvalidLayout) || !strings.Contains(err.Error(), complaint) {
			t.Errorf("ParseFields(%q) = %v, %v, want ErrInvalidLayout with %q", text, got, err, complaint)
		}
	}
}

func TestFormatFieldsOfNothing(t *testing.T) {
	if got := snowflake.FormatFields(nil); got != "" {
		t.Errorf("FormatFields(nil) = %q, want nothing", got)
	}
}
