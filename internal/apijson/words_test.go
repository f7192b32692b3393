package apijson_test

import (
	"os"
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
	if got, want := apijson.Words[snowraftv1.SequenceReset](), []string{"none", "daily", "weekly", "monthly", "quarterly", "yearly"}; !slices.Equal(got, want) {
		t.Errorf("Words() = %q, want %q", got, want)
	}
}

func TestParse(t *testing.T) {
	for word, want := range map[string]snowraftv1.SequenceReset{"none": 1, "yearly": 4, "weekly": 5, "unspecified": 0} {
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

// enums returns every enum of the package. The enums in messages are not part of any JSON.
func enums() (all, inMessages []protoreflect.EnumDescriptor) {
	var nested func(messages protoreflect.MessageDescriptors)
	nested = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			for j := range messages.Get(i).Enums().Len() {
				inMessages = append(inMessages, messages.Get(i).Enums().Get(j))
			}
			nested(messages.Get(i).Messages())
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(apijson.Package, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Enums().Len() {
			all = append(all, f.Enums().Get(i))
		}
		nested(f.Messages())
		return true
	})
	return append(all, inMessages...), inMessages
}

// TestWordsAreDistinct checks that the first value of every enum is the unspecified value, and that its
// words differ from each other and from the names of its values.
func TestWordsAreDistinct(t *testing.T) {
	all, _ := enums()
	for _, d := range all {
		seen := make(map[string]bool)
		for i := range d.Values().Len() {
			word := apijson.WordOf(d.Values().Get(i))
			if seen[word] || word == "" || word != strings.ToLower(word) || (word == "unspecified") != (i == 0) {
				t.Errorf("%s: word %q of %s", d.FullName(), word, d.Values().Get(i).Name())
			}
			seen[word] = true
		}
	}
	if len(all) < 6 {
		t.Errorf("found %d enums of %s, want at least 6", len(all), apijson.Package)
	}
}

// TestWordsAreDocumented checks the table in docs/json.md.
func TestWordsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	all, inMessages := enums()
	for _, d := range all {
		if slices.Contains(inMessages, d) { // enums of proto options
			continue
		}
		var words []string
		for i := 1; i < d.Values().Len(); i++ {
			words = append(words, "`"+apijson.WordOf(d.Values().Get(i))+"`")
		}
		if row := "\n| `" + string(d.Name()) + "` | " + strings.Join(words, ", ") + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/json.md lacks%s", row)
		}
	}
}
