package apijson

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Package is the proto package whose enum values this package writes as words.
const Package = "snowraft.v1"

// unspecified is the name of the first value of every enum, without the prefix of the enum's values.
const unspecified = "UNSPECIFIED"

// Enum is the Go type of an enum.
type Enum interface {
	~int32
	protoreflect.Enum
}

// Word returns the word of an enum value, or the number of a value that this version does not know.
func Word[E Enum](e E) string {
	v := e.Descriptor().Values().ByNumber(e.Number())
	if v == nil {
		return strconv.Itoa(int(e.Number()))
	}
	return WordOf(v)
}

// Parse returns the enum value of a word, "unspecified" included. It returns false for any other
// text.
func Parse[E Enum](word string) (e E, ok bool) {
	v := byWord(e.Descriptor(), word)
	if v == nil {
		return e, false
	}
	return E(v.Number()), true
}

// Words returns the words of an enum in the order of its declaration, except "unspecified".
func Words[E Enum]() []string {
	var e E
	return words(e.Descriptor())
}

// WordOf returns the word of an enum value: its name without the prefix that it shares with the other
// values, in lower case, with hyphens.
func WordOf(v protoreflect.EnumValueDescriptor) string {
	first := v.Parent().(protoreflect.EnumDescriptor).Values().Get(0).Name()
	word := strings.TrimPrefix(string(v.Name()), strings.TrimSuffix(string(first), unspecified))
	return strings.ReplaceAll(strings.ToLower(word), "_", "-")
}

func words(d protoreflect.EnumDescriptor) []string {
	var all []string
	for i := 1; i < d.Values().Len(); i++ {
		all = append(all, WordOf(d.Values().Get(i)))
	}
	return all
}

func byWord(d protoreflect.EnumDescriptor, word string) protoreflect.EnumValueDescriptor {
	for i := range d.Values().Len() {
		if v := d.Values().Get(i); WordOf(v) == word {
			return v
		}
	}
	return nil
}

// wordOf translates the name of an enum value, as protojson wrote it for a field, to its word.
func wordOf(f protoreflect.FieldDescriptor, name string) (string, error) {
	if v := f.Enum().Values().ByName(protoreflect.Name(name)); v != nil {
		return WordOf(v), nil
	}
	return name, nil
}

// nameOf translates a word to the name that protojson reads. It leaves the name of a value unchanged.
func nameOf(f protoreflect.FieldDescriptor, word string) (string, error) {
	if v := byWord(f.Enum(), word); v != nil {
		return string(v.Name()), nil
	}
	if f.Enum().Values().ByName(protoreflect.Name(word)) == nil {
		return "", fmt.Errorf("%s %q: expected one of %s", f.JSONName(), word, strings.Join(words(f.Enum()), ", "))
	}
	return word, nil
}
