package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
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

// documented returns the message that docs/json.md names for a command line; nil if it names none.
func documented(responses map[string]protoreflect.MessageType, line string) protoreflect.MessageType {
	words := strings.Fields(line)
	switch {
	case words[0] == "id" && slices.Contains(words, "--encoding"):
		return nil // see TestEncodingsInJSON of package id
	case words[0] == "id" && slices.Contains(words, "--uuid"):
		return responses["id --uuid"]
	case words[0] == "seq" && (slices.Contains(words, "--sort") || slices.Contains(words, "--contains")):
		return responses["seq list --sort"]
	case len(words) > 1 && responses[words[0]+" "+words[1]] != nil:
		return responses[words[0]+" "+words[1]]
	default:
		return responses[words[0]]
	}
}

// offline lists the commands that print JSON without a call, and the commands whose JSON is not the response of a call.
var offline = []string{"decode", "encode", "version", "bench", "secret", "backup", "restore", "debug", "import", "export", "layout", "apply", "export-config", "context"}

// online lists the subcommands of offline commands that print the response of a call.
var online = []string{"restore acknowledge", "layout create", "layout get", "layout list"}

// TestDocumentedResponses checks that docs/json.md names the response of each command that prints JSON.
func TestDocumentedResponses(t *testing.T) {
	t.Parallel()
	responses := documentedResponses(t)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "snowraft ")
		if cmd.Flags().Lookup("output") != nil && cmd.Runnable() && (!slices.Contains(offline, strings.Fields(path)[0]) || slices.Contains(online, path)) {
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
	delete(responses, "seq list --sort")
	for path := range responses {
		t.Errorf("docs/json.md has the command %q, which does not print JSON", path)
	}
}

// TestErrorsInJSON checks that the errors of commands with -o json have the form of HTTP errors.
func TestErrorsInJSON(t *testing.T) {
	t.Parallel()
	refusing, behind := clitest.NewAPI(t), clitest.NewAPI(t)
	refusing.Refuse(&rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Message: "there is no layout \"x\"", Metadata: map[string]string{"layout": "x"}})
	behind.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "clock is behind", RetryAfter: 4 * time.Second})
	short := clitest.NewAPI(t)
	short.Short = true
	const info = `"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`
	usage := func(message string) string {
		return `{"code":3,"message":"` + message + `",` + info + `"INVALID_ARGUMENT","domain":"snowraft","metadata":{}}]}`
	}
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"id --layout x -o json --addr " + refusing.Address, cli.ExitFailed,
			`{"code":5,"message":"there is no layout \"x\"",` + info + `"UNKNOWN_LAYOUT","domain":"snowraft","metadata":{"layout":"x"}}]}`},
		{"id --output=json --addr " + clitest.DeadAddress + "," + behind.Address, cli.ExitRepeatable,
			`{"code":14,"message":"no answer from any of 2 members: ` + clitest.DeadAddress + `: connection refused; ` + behind.Address + `: clock is behind [CLOCK_BEHIND], try again in 4s",` + info +
				`"CLOCK_BEHIND","domain":"snowraft","metadata":{}},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"4s"}]}`},
		{"seq next orders -n 2 -ojson --addr " + short.Address, cli.ExitFailed, `{"code":2,"message":"the member answered with 1 numbers, expected 2","details":[]}`},
		{"id --count x -o json", cli.ExitUsage, usage(`--count \"x\": expected a whole number of at least 1`)},
		{"-o=json nope", cli.ExitUsage, ""},
		{"id --nope --output json", cli.ExitUsage, ""},
		{"seq next \xff -o json", cli.ExitUsage, ""},
	} {
		stdout, stderr, code := command(t, strings.Fields(c.line)...)
		if code != c.code || stdout != "" || c.want != "" && stderr != c.want+"\n" {
			t.Errorf("%s: exit code %d, %s%s, want %s", c.line, code, stdout, stderr, c.want)
		}
		var s statuspb.Status
		if err := apijson.Unmarshal([]byte(stderr), &s); err != nil || strings.Count(stderr, "\n") != 1 || s.GetMessage() == "" || s.GetCode() == 0 {
			t.Errorf("%s: not a line with a status: %s", c.line, stderr)
		}
	}
	for _, line := range []string{"id --nope", "id --nope -- -o json", "id --nope -o text", "id -n -o"} {
		if _, stderr, _ := command(t, strings.Fields(line)...); !strings.HasPrefix(stderr, "snowraft: ") {
			t.Errorf("%s: %s", line, stderr)
		}
	}
}
