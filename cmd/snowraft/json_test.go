package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
)

// commandTable matches a row of the table of commands in docs/json.md.
var commandTable = regexp.MustCompile("(?m)^\\| `([a-z -]+)` \\| `([A-Za-z]+)` \\|$")

// documentedResponses returns the messages that docs/json.md names for commands.
func documentedResponses(t *testing.T) map[string]protoreflect.MessageType {
	t.Helper()
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	responses := make(map[string]protoreflect.MessageType)
	for _, row := range commandTable.FindAllStringSubmatch(string(page), -1) {
		m, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(apijson.Package + "." + row[2]))
		if err != nil {
			t.Fatalf("%s: %v", row[0], err)
		}
		responses[row[1]] = m
	}
	return responses
}

// documented returns the message that is documented for a command line; nil if there is none.
func documented(responses map[string]protoreflect.MessageType, line string) protoreflect.MessageType {
	words := strings.Fields(line)
	switch {
	case words[0] == "id" && slices.Contains(words, "--encoding"):
		return nil // see TestEncodingsInJSON
	case words[0] == "id" && slices.Contains(words, "--uuid"):
		return responses["id --uuid"]
	case responses[words[0]] != nil || len(words) == 1:
		return responses[words[0]]
	default:
		return responses[words[0]+" "+words[1]]
	}
}

// offline lists the commands that print JSON and make no call, and those whose JSON is a document of their own.
var offline = []string{"decode", "encode", "version", "bench"}

// TestDocumentedResponses checks that docs/json.md names the response of each command that prints JSON.
func TestDocumentedResponses(t *testing.T) {
	t.Parallel()
	responses := documentedResponses(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "snowraft ")
		if cmd.Flags().Lookup("output") != nil && cmd.Runnable() && !slices.Contains(offline, strings.Fields(path)[0]) {
			if responses[path] == nil {
				t.Errorf("docs/json.md lacks the command %q", path)
			}
			delete(responses, path)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(newTestApp().Host))
	delete(responses, "id --uuid")
	for path := range responses {
		t.Errorf("docs/json.md has the command %q, which does not print JSON", path)
	}
}

// TestEncodingsInJSON checks the one document in which IDs are not numbers.
func TestEncodingsInJSON(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	if got, want := succeeds(t, "id", "-n", "2", "--encoding", "base62", "-o", "json", "--addr", f.address), `{"ranges":[],"ids":["IRfc3ORJcv","IRfc3ORJcw"]}`+"\n"; got != want {
		t.Errorf("prints %s, want %s", got, want)
	}
}
