package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
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
	if got, want := document.Definitions["v1SequenceMode"].Enum, []string{"unspecified", "relaxed", "strict", "gapless"}; !slices.Equal(got, want) {
		t.Errorf("the words of SequenceMode are %q, want %q", got, want)
	}
}

// TestPublishedDocumentBeginsWithIDs checks the order that readers of /docs see.
func TestPublishedDocumentBeginsWithIDs(t *testing.T) {
	t.Parallel()
	var document struct{ Tags []service }
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tag := range document.Tags {
		names = append(names, tag.Name)
	}
	if !slices.Equal(names, services) {
		t.Errorf("services = %q, want %q; run make generate", names, services)
	}
}

func TestServiceWithoutPlaceFails(t *testing.T) {
	t.Parallel()
	if err := rewrite(io.Discard, strings.NewReader("{\n  \"tags\": [\n    {\"name\": \"NewService\"}\n  ]\n}")); err == nil {
		t.Error("rewrite() accepted a service without a place")
	}
}

func TestPublishedDocumentHasRights(t *testing.T) {
	t.Parallel()
	var document struct {
		SecurityDefinitions map[string]struct{ Type, Name, In string }
		Paths               map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
			Right       string `json:"x-right"`
		}
	}
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &document); err != nil {
		t.Fatal(err)
	}
	if bearer := document.SecurityDefinitions["bearer"]; bearer.Type != "apiKey" || bearer.In != "header" || bearer.Name != "Authorization" {
		t.Errorf("security definition bearer = %+v", bearer)
	}
	for path, methods := range document.Paths {
		for method, op := range methods {
			want := rpc.RuleOf("/snowraft.v1." + strings.Replace(op.OperationID, "_", "/", 1)).GetRight()
			if _, bearer := op.Security[0]["bearer"]; op.Right != want || want == "" || !bearer {
				t.Errorf("%s %s: right %q with security %v, want %q; run make generate", method, path, op.Right, op.Security, want)
			}
		}
	}
}
