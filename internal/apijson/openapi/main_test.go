package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	const before = `{"enum": ["SEQUENCE_MODE_UNSPECIFIED", "SEQUENCE_MODE_STRICT"], "description": " - SEQUENCE_MODE_STRICT: is never ALREADY_EXISTS or SEQUENCE_MODE_STRICTER"}`
	const after = `{"enum": ["unspecified", "strict"], "description": " - strict: is never ALREADY_EXISTS or SEQUENCE_MODE_STRICTER"}`
	var got strings.Builder
	if err := rewrite(&got, strings.NewReader(before)); err != nil || got.String() != after {
		t.Errorf("rewrite() = %s, %v, want %s", &got, err, after)
	}
}

// TestPublishedDocumentHasWords checks that the document was generated with this command.
func TestPublishedDocumentHasWords(t *testing.T) {
	t.Parallel()
	if got := inWords([]byte(snowraftv1.OpenAPI)); string(got) != snowraftv1.OpenAPI {
		t.Error("the OpenAPI document has names of enum values; run make generate")
	}
	var document struct {
		Definitions map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &document); err != nil {
		t.Fatal(err)
	}
	if got, want := document.Definitions["v1SequenceMode"].Enum, []string{"unspecified", "relaxed", "strict"}; !slices.Equal(got, want) {
		t.Errorf("the words of SequenceMode are %q, want %q", got, want)
	}
}
