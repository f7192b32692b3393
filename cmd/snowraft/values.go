package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// value is the value of a setting: the same parser reads it from a flag, the
// environment and the configuration file.
type value struct {
	kind    string            // what the help shows in the value's place
	expects string            // what errors say was expected
	parse   func(string) bool // stores what it accepts
	text    func() string
	list    bool     // a YAML list is accepted for it
	among   []string // what shells offer for it
}

// Set, String and Type make it a pflag.Value.
func (v *value) Set(s string) error {
	if !v.parse(s) {
		return errors.New("expected " + v.expects)
	}
	return nil
}
func (v *value) String() string { return v.text() }
func (v *value) Type() string   { return v.kind }

func textValue(p *string, kind string) *value {
	return &value{kind: kind, expects: "text that is not empty, without control characters", text: func() string { return *p }, parse: func(s string) bool {
		*p = s
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
	}}
}

// wordsValue takes text that is sent to a member, which takes nothing but UTF-8.
func wordsValue(p *string, kind string) *value {
	v := textValue(p, kind)
	v.expects = "text in UTF-8 that is not empty, without control characters"
	some := v.parse
	v.parse = func(s string) bool { return some(s) && utf8.ValidString(s) }
	return v
}

// freeTextValue takes any text on one line that is sent to a member, also none.
func freeTextValue(p *string, kind string) *value {
	v := wordsValue(p, kind)
	v.expects = "text in UTF-8 without control characters, which may be empty"
	some := v.parse
	v.parse = func(s string) bool { return some(s) || s == "" }
	return v
}

func intValue(p *int, lowest, highest int) *value {
	expects := fmt.Sprintf("a whole number from %d to %d", lowest, highest)
	return &value{kind: "N", expects: expects, text: func() string { return strconv.Itoa(*p) }, parse: func(s string) bool {
		n, err := strconv.Atoi(s)
		*p = n
		return err == nil && n >= lowest && n <= highest
	}}
}

// switchValue takes true or false.
func switchValue(p *bool) *value {
	v := choiceValue(new(string), "true", "false")
	word := v.parse
	v.text = func() string { return strconv.FormatBool(*p) }
	v.parse = func(s string) bool {
		*p = s == "true"
		return word(s)
	}
	return v
}

func uintValue(p *uint64, lowest uint64) *value {
	expects := fmt.Sprintf("a whole number from %d", lowest)
	return &value{kind: "N", expects: expects, text: func() string { return decimal(*p) }, parse: func(s string) bool {
		n, err := strconv.ParseUint(s, 10, 64)
		*p = n
		return err == nil && n >= lowest
	}}
}

// wholeNumber is what any signed 64-bit number is, for errors.
var wholeNumber = fmt.Sprintf("a whole number from %d to %d", math.MinInt64, math.MaxInt64)

// numberValue takes any signed 64-bit number, or the word default, which is nil.
func numberValue(p **int64) *value {
	text := func() string {
		if *p == nil {
			return ""
		}
		return strconv.FormatInt(**p, 10)
	}
	return &value{kind: "N", expects: wholeNumber + ", or default", text: text, parse: func(s string) bool {
		*p = nil
		if s == "default" {
			return true
		}
		n, err := strconv.ParseInt(s, 10, 64)
		*p = &n
		return err == nil
	}}
}

// durationValue takes whole milliseconds: that is what is replicated.
func durationValue(p *time.Duration, lowest, highest time.Duration) *value {
	expects := fmt.Sprintf("a duration from %s to %s in whole milliseconds, such as %s", human(lowest), human(highest), human(*p))
	return &value{kind: "DURATION", expects: expects, text: func() string { return human(*p) }, parse: func(s string) bool {
		d, err := time.ParseDuration(s)
		*p = d
		return err == nil && d >= lowest && d <= highest && d%time.Millisecond == 0
	}}
}

func choiceValue(p *string, choices ...string) *value {
	return &value{
		kind: strings.Join(choices, "|"), expects: either(choices), among: choices,
		text: func() string { return *p },
		parse: func(s string) bool {
			*p = s
			return slices.Contains(choices, s)
		},
	}
}

// listenValue takes an address to listen at: the host may be empty, the port 0.
func listenValue(p *string) *value {
	const expects = "host:port, such as 127.0.0.1:7700 or :7700"
	return &value{kind: "HOST:PORT", expects: expects, text: func() string { return *p }, parse: func(s string) bool {
		*p = s
		return isAddress(s, 0)
	}}
}

// optionalListenValue takes an address to listen at, or none.
func optionalListenValue(p *string) *value {
	v := listenValue(p)
	v.expects += ", or nothing"
	some := v.parse
	v.parse = func(s string) bool { return some(s) || s == "" }
	return v
}

// addressesValue takes addresses of others, separated by commas.
func addressesValue(p *[]string, example string) *value {
	expects := "host:port, or several separated by commas, such as " + example
	text := func() string { return strings.Join(*p, ",") }
	return &value{kind: "HOST:PORT,...", expects: expects, list: true, text: text, parse: func(s string) bool {
		*p = nil
		for address := range strings.SplitSeq(s, ",") {
			address = strings.TrimSpace(address)
			if !isPeer(address) {
				return false
			}
			*p = append(*p, address)
		}
		return true
	}}
}

// hostValue takes a host name or IP address, without a port.
func hostValue(p *string) *value {
	const expects = "a host name or IP address, without a port, that others reach"
	return &value{kind: "HOST", expects: expects, text: func() string { return *p }, parse: func(s string) bool {
		*p = s
		if ip := net.ParseIP(s); ip != nil {
			return !ip.IsUnspecified()
		}
		return s != "" && !strings.ContainsAny(s, ":/[] ,")
	}}
}

// isPeer reports whether s is an address that others can be reached at.
func isPeer(s string) bool {
	host, _, _ := net.SplitHostPort(s)
	return host != "" && isAddress(s, 1)
}

func isAddress(s string, lowestPort uint64) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, "/ ,") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n >= lowestPort
}
