package cli

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

// Value is the value of a setting: the same parser reads it from a flag, the
// environment and the configuration file.
type Value struct {
	Kind    string            // placeholder of the value in the help
	Expects string            // expected values, for errors
	Parse   func(string) bool // stores the value and returns true; after false, the value is undefined
	Text    func() string
	List    bool     // a YAML list is accepted
	Among   []string // values that shells offer
	// Hidden returns the value of a secret, which Text, help and errors do not show; nil for other values.
	Hidden func() string
}

// FileValue returns a value that accepts the path of a file.
func FileValue(p *string) *Value { return TextValue(p, "FILE") }

// Set implements pflag.Value.
func (v *Value) Set(s string) error {
	if !v.Parse(s) {
		return errors.New("expected " + v.Expects)
	}
	return nil
}

// String implements pflag.Value.
func (v *Value) String() string { return v.Text() }

// Type implements pflag.Value.
func (v *Value) Type() string { return v.Kind }

// textValue returns a value that accepts the texts for which ok returns true.
func textValue(p *string, kind, expects string, ok func(string) bool) *Value {
	return &Value{Kind: kind, Expects: expects, Text: func() string { return *p }, Parse: func(s string) bool {
		*p = s
		return ok(s)
	}}
}

// TextValue returns a value that accepts text that is not empty and has no control characters.
func TextValue(p *string, kind string) *Value {
	return textValue(p, kind, "text that is not empty, without control characters", func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
	})
}

// WordsValue returns a value that accepts text for a member. Members accept only UTF-8.
func WordsValue(p *string, kind string) *Value {
	return TextValue(p, kind).Only("text in UTF-8 that is not empty, without control characters", func() bool { return utf8.ValidString(*p) })
}

// FreeTextValue returns a value that accepts any text on one line for a member, including the empty text.
func FreeTextValue(p *string, kind string) *Value {
	return WordsValue(p, kind).orEmpty("text in UTF-8 without control characters, which may be empty")
}

// RepeatedValue returns a value that adds each text for which ok returns true to a list.
func RepeatedValue(p *[]string, kind, expects string, ok func(string) bool) *Value {
	return &Value{Kind: kind, Expects: expects, Text: func() string { return strings.Join(*p, " ") }, Parse: func(s string) bool {
		*p = append(*p, s)
		return ok(s)
	}}
}

// Only makes a value accept only those of its texts for which ok returns true. It returns v.
func (v *Value) Only(expects string, ok func() bool) *Value {
	parse := v.Parse
	v.Expects, v.Parse = expects, func(s string) bool { return parse(s) && ok() }
	return v
}

// orEmpty makes a value accept the empty text too. It returns v.
func (v *Value) orEmpty(expects string) *Value {
	parse := v.Parse
	v.Expects, v.Parse = expects, func(s string) bool { return parse(s) || s == "" }
	return v
}

// IntValue returns a value that accepts a whole number from lowest to highest.
func IntValue(p *int, lowest, highest int) *Value {
	expects := fmt.Sprintf("a whole number from %d to %d", lowest, highest)
	return &Value{Kind: "N", Expects: expects, Text: func() string { return strconv.Itoa(*p) }, Parse: func(s string) bool {
		n, err := strconv.Atoi(s)
		*p = n
		return err == nil && n >= lowest && n <= highest
	}}
}

// SwitchValue returns a value that accepts true or false.
func SwitchValue(p *bool) *Value {
	words := []string{"true", "false"}
	// pflag shows a switch by the name bool without a value
	return &Value{Kind: "bool", Expects: Either(words), Among: words, Text: func() string { return strconv.FormatBool(*p) }, Parse: func(s string) bool {
		*p = s == "true"
		return slices.Contains(words, s)
	}}
}

// UintValue returns a value that accepts a whole number that is at least lowest.
func UintValue(p *uint64, lowest uint64) *Value {
	v := &Value{Kind: "N", Expects: fmt.Sprintf("a whole number of at least %d", lowest), Text: func() string { return Decimal(*p) }}
	v.Parse = func(s string) bool {
		n, err := strconv.ParseUint(s, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			v.Expects = fmt.Sprintf("a whole number from %d to %d", lowest, uint64(math.MaxUint64))
		}
		*p = n
		return err == nil && n >= lowest
	}
	return v
}

// WholeNumber describes any signed 64-bit number in errors.
var WholeNumber = fmt.Sprintf("a whole number from %d to %d", math.MinInt64, math.MaxInt64)

// NumberValue returns a value that accepts any signed 64-bit number, or the word default, which is nil.
func NumberValue(p **int64) *Value {
	text := func() string {
		if *p == nil {
			return ""
		}
		return strconv.FormatInt(**p, 10)
	}
	return &Value{Kind: "N", Expects: WholeNumber + ", or default", Text: text, Parse: func(s string) bool {
		*p = nil
		if s == "default" {
			return true
		}
		n, err := strconv.ParseInt(s, 10, 64)
		*p = &n
		return err == nil
	}}
}

// DurationValue returns a value that accepts a duration from lowest to highest in whole milliseconds, the
// unit of replicated durations.
func DurationValue(p *time.Duration, lowest, highest time.Duration) *Value {
	expects := fmt.Sprintf("a duration from %s to %s in whole milliseconds, such as %s", human(lowest), human(highest), human(*p))
	return &Value{Kind: "DURATION", Expects: expects, Text: func() string { return human(*p) }, Parse: func(s string) bool {
		d, err := time.ParseDuration(s)
		*p = d
		return err == nil && d >= lowest && d <= highest && d%time.Millisecond == 0
	}}
}

// DaysValue is [DurationValue] for long times: it also accepts whole days, such as 45d, and 0.
func DaysValue(p *time.Duration, lowest, highest time.Duration) *Value {
	expects := fmt.Sprintf("0, or a time from %s to %s, such as 45d or 12h", days(lowest), days(highest))
	return &Value{Kind: "TIME", Expects: expects, Text: func() string { return days(*p) }, Parse: func(s string) bool {
		var err error
		if count, ok := strings.CutSuffix(s, "d"); ok {
			var n uint64
			n, err = strconv.ParseUint(count, 10, 16)
			*p = time.Duration(n) * 24 * time.Hour
		} else {
			*p, err = time.ParseDuration(s)
		}
		return err == nil && (*p == 0 || *p >= lowest && *p <= highest && *p%time.Millisecond == 0)
	}}
}

// ChoiceValue returns a value that accepts one of the choices.
func ChoiceValue(p *string, choices ...string) *Value {
	v := textValue(p, strings.Join(choices, "|"), Either(choices), func(s string) bool { return slices.Contains(choices, s) })
	v.Among = choices
	return v
}

// ListenValue returns a value that accepts an address to listen at. The host may be empty, the port 0.
func ListenValue(p *string) *Value {
	return textValue(p, "HOST:PORT", "host:port, such as 127.0.0.1:7700 or :7700", func(s string) bool { return isAddress(s, 0) })
}

// OptionalListenValue returns a value that accepts an address to listen at, or the empty text.
func OptionalListenValue(p *string) *Value {
	v := ListenValue(p)
	return v.orEmpty(v.Expects + ", or an empty value")
}

// AddressesValue returns a value that accepts addresses of other processes, separated by commas.
func AddressesValue(p *[]string, example string) *Value {
	return listValue(p, "HOST:PORT,...", "host:port, or several separated by commas, such as "+example, IsPeer)
}

// listValue returns a value that accepts texts, separated by commas, for each of which ok returns true.
func listValue(p *[]string, kind, expects string, ok func(string) bool) *Value {
	text := func() string { return strings.Join(*p, ",") }
	return &Value{Kind: kind, Expects: expects, List: true, Text: text, Parse: func(s string) bool {
		*p = nil
		for item := range strings.SplitSeq(s, ",") {
			*p = append(*p, strings.TrimSpace(item))
		}
		return !slices.ContainsFunc(*p, func(item string) bool { return !ok(item) })
	}}
}

// HostValue returns a value that accepts a host name or IP address, without a port.
func HostValue(p *string) *Value {
	return textValue(p, "HOST", "a host name or IP address that others reach, without a port", isHost)
}

// HostsValue returns a value that accepts at most 100 host names and IP addresses, without ports,
// separated by commas.
func HostsValue(p *[]string) *Value {
	const most = 100 // a certificate with many more is too long for clients
	const expects = "host names or IP addresses without a port, at most 100, separated by commas"
	return listValue(p, "HOST,...", expects, isHost).Only(expects, func() bool { return len(*p) <= most })
}

// isHost reports whether s is a host name or IP address that other processes can reach.
func isHost(s string) bool {
	if ip := net.ParseIP(s); ip != nil {
		return !ip.IsUnspecified()
	}
	return s != "" && !strings.ContainsAny(s, ":/[] ,")
}

// IsPeer reports whether s is an address at which another process can be reached.
func IsPeer(s string) bool {
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
