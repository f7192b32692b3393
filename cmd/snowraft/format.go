package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// stamp formats an instant as all of Snowraft does: RFC 3339, UTC, milliseconds.
func stamp(unixMillis int64) string {
	return time.UnixMilli(unixMillis).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// stampKnown is stamp for instants that may not be known, which are 0.
func stampKnown(unixMillis int64) string {
	if unixMillis == 0 {
		return ""
	}
	return stamp(unixMillis)
}

// human formats a duration without the parts that are zero: 10m, not 10m0s.
func human(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func milliseconds(ms int64) string { return human(time.Duration(ms) * time.Millisecond) }

// plain takes the name of the package off an error of snowflake.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "snowflake: ") }

func encodingNames() []string {
	var names []string
	for _, e := range snowflake.Encodings() {
		names = append(names, e.String())
	}
	return names
}

func encodingValue(p *snowflake.Encoding) *value {
	return &value{
		kind: "NAME", expects: either(encodingNames()), among: encodingNames(),
		text: p.String,
		parse: func(s string) bool {
			var err error
			*p, err = snowflake.ParseEncoding(s)
			return err == nil
		},
	}
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
