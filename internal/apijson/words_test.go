package apijson_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestWord(t *testing.T) {
	for value, want := range map[snowraftv1.SequenceMode]string{
		snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT: "strict", snowraftv1.SequenceMode_SEQUENCE_MODE_UNSPECIFIED: "unspecified", 99: "99", -1: "-1",
	} {
		if got := apijson.Word(value); got != want {
			t.Errorf("Word(%d) = %q, want %q", value, got, want)
		}
	}
	if got, want := apijson.Words[snowraftv1.SequenceReset](), []string{"none", "daily", "monthly", "yearly"}; !slices.Equal(got, want) {
		t.Errorf("Words() = %q, want %q", got, want)
	}
}

func TestParse(t *testing.T) {
	for word, want := range map[string]snowraftv1.SequenceReset{"none": 1, "yearly": 4, "unspecified": 0} {
		if got, ok := apijson.Parse[snowraftv1.SequenceReset](word); !ok || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", word, got, ok, want)
		}
	}
	for _, word := range []string{"", "Daily", "SEQUENCE_RESET_DAILY", "strict", "2"} {
		if got, ok := apijson.Parse[snowraftv1.SequenceReset](word); ok {
			t.Errorf("Parse(%q) = %v, want none", word, got)
		}
	}
}

// TestWordsAreDistinct checks every enum of the package: its first value is the unspecified one, and its
// words differ from each other and from the names of its values.
func TestWordsAreDistinct(t *testing.T) {
	enums := 0
	check := func(all protoreflect.EnumDescriptors) {
		for i := range all.Len() {
			enums++
			d, seen := all.Get(i), make(map[string]bool)
			for j := range d.Values().Len() {
				v := d.Values().Get(j)
				word := apijson.WordOf(v)
				if seen[word] || word == "" || word != strings.ToLower(word) || (word == "unspecified") != (j == 0) {
					t.Errorf("%s: word %q of %s", d.FullName(), word, v.Name())
				}
				seen[word] = true
			}
		}
	}
	var nested func(messages protoreflect.MessageDescriptors)
	nested = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			check(messages.Get(i).Enums())
			nested(messages.Get(i).Messages())
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(apijson.Package, func(f protoreflect.FileDescriptor) bool {
		check(f.Enums())
		nested(f.Messages())
		return true
	})
	if enums < 6 {
		t.Errorf("found %d enums of %s, want at least 6", enums, apijson.Package)
	}
}
