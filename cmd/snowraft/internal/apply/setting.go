package apply

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/apijson"
)

// setting is a setting of a message M: a key in the file, and a field in the API.
type setting[M any] struct {
	key   string
	field string // path in update masks
	about string
	form  form
	value func(M) *cli.Value // reads and writes the field as text
}

// form is the form of a value in the file and in the schema.
type form string

const (
	isText   form = "string"
	isNumber form = "integer"
	isSwitch form = "boolean"
	isList   form = "array"  // a list of texts
	isEither form = "either" // a text, or a number
)

// listSeparator joins the values of a list. No value of a list has it.
const listSeparator = "\n"

// otherTypes lists texts that readers of YAML 1.1 take for values of other types.
var otherTypes = []string{"y", "n", "yes", "no", "on", "off"}

// text returns a value of the form as text.
func (f form) text(node *yaml.Node) (text string, ok bool) {
	if f != isList {
		return scalar(node)
	}
	if node.Kind != yaml.SequenceNode {
		return "", false
	}
	var all []string
	for _, item := range node.Content {
		text, ok := scalar(item)
		if !ok || strings.Contains(text, listSeparator) {
			return "", false
		}
		all = append(all, text)
	}
	return strings.Join(all, listSeparator), true
}

// node is the inverse of text.
func (f form) node(text string) *yaml.Node {
	plain := func(text string, tag string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
	}
	switch f {
	case isNumber:
		return plain(text, "!!int")
	case isSwitch:
		return plain(text, "!!bool")
	case isList:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for item := range strings.SplitSeq(text, listSeparator) {
			if item != "" {
				list.Content = append(list.Content, plain(item, "!!str"))
			}
		}
		return list
	default:
		made := plain(text, "!!str")
		if slices.Contains(otherTypes, strings.ToLower(text)) {
			made.Style = yaml.DoubleQuotedStyle
		}
		return made
	}
}

// keys returns the keys of settings. fresh returns a message to try values with.
func keys[M any](all []setting[M], fresh func() M) []key {
	return cli.Map(func(s setting[M]) key {
		return key{name: s.key, about: s.about, form: s.form, among: s.value(fresh()).Among, check: func(text string) (string, bool) {
			v := s.value(fresh())
			ok := v.Parse(text)
			return v.Expects, ok
		}}
	}, all)
}

// fill sets the settings of a message to those that an object gives.
func fill[M any](m M, all []setting[M], given map[string]string) {
	for _, s := range all {
		if text, ok := given[s.key]; ok {
			s.value(m).Parse(text) // the file was checked
		}
	}
}

// wordOf returns a value that accepts the words of an enum.
func wordOf[E apijson.Enum](p *E) *cli.Value {
	var text string
	v := cli.ChoiceValue(&text, apijson.Words[E]()...)
	parse := v.Parse
	v.Text = func() string { return cli.Word(*p) }
	v.Parse = func(s string) bool {
		*p, _ = apijson.Parse[E](s)
		return parse(s)
	}
	return v
}

// wholeOf returns a value that accepts any signed 64-bit number.
func wholeOf(p **int64) *cli.Value {
	return cli.NumberValue(p).Only(cli.WholeNumber, func() bool { return *p != nil })
}

// millisOf returns a value that accepts a duration. It keeps milliseconds.
func millisOf(p *int64, lowest, highest time.Duration) *cli.Value {
	return millis(p, func(d *time.Duration) *cli.Value { return cli.DurationValue(d, lowest, highest) }, lowest)
}

// daysOf returns a value that accepts 0, or a duration that may be in days. It keeps milliseconds.
func daysOf(p *int64, lowest, highest time.Duration) *cli.Value {
	return millis(p, func(d *time.Duration) *cli.Value { return cli.DaysValue(d, lowest, highest) }, 0)
}

func millis(p *int64, value func(*time.Duration) *cli.Value, example time.Duration) *cli.Value {
	d := example
	v := value(&d)
	parse, text := v.Parse, v.Text
	v.Text = func() string {
		d = time.Duration(*p) * time.Millisecond
		return text()
	}
	v.Parse = func(s string) bool {
		ok := parse(s)
		*p = d.Milliseconds()
		return ok
	}
	return v
}

// present returns the place of an optional field, which it sets.
func present[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// listOf returns a value that accepts a list of texts, for each of which ok returns true. The order does not count.
func listOf(p *[]string, expects string, ok func(string) bool) *cli.Value {
	return &cli.Value{
		Kind: "LIST", Expects: expects,
		Text: func() string { return strings.Join(slices.Sorted(slices.Values(*p)), listSeparator) },
		Parse: func(s string) bool {
			*p = nil
			if s == "" {
				return true
			}
			*p = strings.Split(s, listSeparator)
			return !slices.ContainsFunc(*p, func(item string) bool { return !ok(item) })
		},
	}
}
