package diagnose

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/internal/logring"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var salt = []byte("0123456789abcdef")

func TestTextsHideNames(t *testing.T) {
	t.Parallel()
	r := NewRedactor(false, salt, "a", "default")
	hidden := r.Name("orders")
	if !strings.HasPrefix(hidden, "name-") || hidden != NewRedactor(false, salt).Name("orders") || hidden == NewRedactor(false, []byte("another salt 16b")).Name("orders") {
		t.Errorf("Name() = %q", hidden)
	}
	for in, want := range map[string]string{
		`sequence "orders" does not exist; create it with "snowraft seq create orders"`: `sequence "` + hidden + `" does not exist; create it with "` + r.Name("snowraft seq create orders") + `"`,
		`no window of layout "default" for "a"`:                                         `no window of layout "default" for "a"`,
		`cut off: sequence "ord`:                                                        `cut off: sequence "` + r.Name("ord") + `"`,
		`cut off: "ord\`:                                                                `cut off: "` + r.Name(`ord\`) + `"`,
		`no sequence "or\"ders\u00e9" here`:                                             `no sequence "` + r.Name(`or"dersé`) + `" here`,
		`token 17 lacks the scope seq:next:orders`:                                      `token 17 lacks the scope seq:next:` + hidden,
		`token 17 (orders)`:                                                             `token 17 (` + hidden + `)`,
		`token 17 (a"orders)`:                                                           `token 17 (` + r.Name(`a"orders`) + `)`,
		`token 17 (orders): refused`:                                                    `token 17 (` + hidden + `): refused`,
		`"orders", ("orders")`:                                                          `"` + hidden + `", ("` + hidden + `")`,
		`refused: ""`:                                                                   `refused: ""`,
		`member b at 10.0.0.1:7702: refused`:                                            `member b at 10.0.0.1:7702: refused`,
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%s) = %s\nwant %s", in, got, want)
		}
		if got := NewRedactor(true, salt).Text(in); got != in {
			t.Errorf("Text(%s) = %s with names", in, got)
		}
	}
}

// hostile lists names of which no part may be visible. Some of them are not valid names.
var hostile = []string{
	`SECRET"t`, `"SECRET"`, `a"SECRET"b`, `SECRET\`, `\"SECRET`, `SECRET\"`, `\\"SECRET\\`, `"` + "SECRET", `('"SECRET`, "`SECRET`",
	"a\nSECRET", "SECRET\nactor=SECRET", "a\tSECRET", "a SECRET", "é\"SECRET→", "\u202eSECRET", "\u00a0SECRET", "a\xffSECRET", "日本\"SECRET",
	"token 17 (SECRET)", "token 17 (a) SECRET", "a)SECRET", "(SECRET", "SECRET)x", "seq:next:SECRET", `seq:next:"SECRET`, "lacks the scope seq:next:SECRET",
	"name-3f9a12bc04d1SECRET", `x":SECRET`, `a", "SECRET`, `=SECRET`, "%!s(SECRET)", "$SECRET", "${1}SECRET", "(?s)SECRET.*", "cluster:admin SECRET", "] SECRET",
}

func TestHostileNamesAreHidden(t *testing.T) {
	t.Parallel()
	r := NewRedactor(false, salt, "a", "b")
	for _, n := range hostile {
		line := logring.Line{Message: fmt.Sprintf("raft knows %q", n), Attrs: []logring.Attr{
			{Key: "component", Value: "raft"}, {Key: "actor", Value: "token 17 (" + n + ")"}, {Key: "anonymous", Value: fmt.Sprintf("%+v", []string{"seq:next:" + n, "cluster:read"})},
			{Key: "sequence", Value: n}, {Key: "resource", Value: n}, {Key: "holder", Value: n + "/" + n}, {Key: "path", Value: "/v1/" + n}, {Key: "names", Value: fmt.Sprint([]string{n, n})},
			{Key: "error", Value: fmt.Sprintf("sequence %q: holder %q, (%+q); see %q", n, n, n, "snowraft seq show "+n)},
			{Key: "reason", Value: "token 17 lacks the scope seq:next:" + n}, {Key: "before", Value: n},
		}}
		var b bytes.Buffer
		if err := r.writeLog(&b, []logring.Line{line}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "SECRET") || strings.Count(b.String(), "\n") != 1 {
			t.Errorf("%q: %s", n, b.String())
		}
		if want := "token 17 (" + r.Name(n) + ")"; r.actor("token 17 ("+n+")") != want {
			t.Errorf("actor(%q) = %s, want %s", n, r.actor("token 17 ("+n+")"), want)
		}
		if !strings.ContainsAny(n, " \t\n") { // no name of a token has a space
			for _, text := range []string{"token 17 (" + n + ")", "token 17 (" + n, "refused: token 17 (" + n + "): disabled", "see seq:admin:" + n + " here"} {
				if got := r.Text(text); strings.Contains(got, "SECRET") {
					t.Errorf("Text(%q) = %s", text, got)
				}
			}
		}
		if long := fmt.Sprintf("sequence %q", n); strings.Contains(r.Text(long[:len(long)-1]), "SECRET") {
			t.Errorf("cut off: %q", n)
		}
	}
}

// Names of members are not quoted everywhere. A quote in the name of a member must not reveal other names.
func TestQuotesInNamesOfMembersRevealNothing(t *testing.T) {
	t.Parallel()
	for _, m := range []string{`"`, `b"`, `"b`, `b"c`, `"b"`, `""`, `"""`, `("`, `":`, `b\"`, `"\`, `"b\`, `="`, `seq:next:"`, `seq:next:`, `",`, `"("`, `日"`} {
		r := NewRedactor(false, salt, m)
		for _, form := range []string{
			"member %[1]s at 10.0.0.1:7702: sequence %[2]q is frozen", "%[1]s: %[2]q", "%[1]s %[2]q %[1]s %[2]q", "%[2]q on %[1]s (%[2]q)", "[%[2]q %[1]s], %[2]q, %[1]s",
			"member %[1]q: sequence %[2]q", "from=%[1]s sequence=%[2]q", "%[1]s (%[2]q) %[1]s", "token 17 (%[2]s) at %[1]s: %[2]q",
		} {
			for _, n := range []string{"SECRET", `SE"SECRET`, `SECRET\`, "SECRET:", "(SECRET", `"SECRET"`, "=SECRET("} {
				text := fmt.Sprintf(form, m, n)
				if got := r.Text(text); strings.Contains(got, "SECRET") {
					t.Errorf("Text(%s) = %s", text, got)
				}
			}
		}
	}
}

func TestLogLinesShowKnownAttributes(t *testing.T) {
	t.Parallel()
	r := NewRedactor(false, salt, "a")
	at := time.UnixMilli(1_795_403_000_000)
	lines := []logring.Line{
		{Time: at, Level: slog.LevelInfo, Message: `see "snowraft token list"`, Attrs: []logring.Attr{
			{Key: "member", Value: "a"}, {Key: "sequence", Value: "orders"}, {Key: "worker", Value: "7", Plain: true},
			{Key: "actor", Value: "token 17 (app)"}, {Key: "anonymous", Value: "[metrics:read seq:next:orders]"}, {Key: "before", Value: `{"name":"orders"}`}, {Key: "invented", Value: "orders"},
		}},
		{Time: at, Level: slog.LevelError, Message: `composed of "orders"`, Attrs: []logring.Attr{
			{Key: "component", Value: "raft"}, {Key: "error", Value: `sequence "orders": refused`}, {Key: "panic", Value: "orders"},
			{Key: "stack", Value: "goroutine 7 [running]:\nmain.(*T).next(0xc000123, {0x6f726465, 0x7273})\n\t/src/main.go:7 +0x1d\n"},
		}},
	}
	var b bytes.Buffer
	if err := r.writeLog(&b, lines); err != nil {
		t.Fatal(err)
	}
	want := `time=2026-11-23T03:03:20.000Z level=INFO msg="see \"snowraft token list\"" member=a sequence=` + r.Name("orders") +
		` worker=7 actor="token 17 (` + r.Name("app") + `)" anonymous="[metrics:read seq:next:` + r.Name("orders") + `]" before=(omitted) invented=(omitted)
time=2026-11-23T03:03:20.000Z level=ERROR msg="composed of \"` + r.Name("orders") + `\"" component=raft error="sequence \"` + r.Name("orders") +
		`\": refused" panic=(omitted) stack="goroutine 7 [running]:\nmain.(*T).next(...)\n\t/src/main.go:7 +0x1d\n"
`
	if b.String() != want {
		t.Errorf("log:\n%swant:\n%s", b.String(), want)
	}
}

func TestMetricsShowKnownLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	issued := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "snowraft_issued_total", Help: "Issued."}, []string{"layout", "sequence"})
	other := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "other_total", Help: "Other."}, []string{"layout"})
	registry.MustRegister(issued, other)
	issued.WithLabelValues("default", "orders").Inc()
	other.WithLabelValues("default").Inc()
	r := NewRedactor(false, salt)
	var b bytes.Buffer
	if err := r.writeMetrics(&b, registry); err != nil {
		t.Fatal(err)
	}
	want := "# HELP snowraft_issued_total Issued.\n# TYPE snowraft_issued_total counter\n" +
		`snowraft_issued_total{layout="default",sequence="` + r.Name("orders") + "\"} 1\n"
	if b.String() != want {
		t.Errorf("metrics:\n%swant:\n%s", b.String(), want)
	}
}

func TestUnknownTextsOfMessagesAreOmitted(t *testing.T) {
	t.Parallel()
	r := NewRedactor(false, salt)
	in := &snowraftv1.GetStatusResponse{
		Name: "a", Term: 7, Problem: `sequence "orders"`, SecretFingerprints: []string{"f"},
		Lanes: []*snowraftv1.Lane{{Layout: "default", Problem: `"orders"`}}, Quorum: &snowraftv1.Quorum{Voters: 3},
	}
	want := proto.CloneOf(in)
	want.Problem, want.Lanes[0].Problem = `sequence "`+r.Name("orders")+`"`, `"`+r.Name("orders")+`"`
	if got := r.Message(in); !proto.Equal(got, want) {
		t.Errorf("Message() = %v\nwant %v", got, want)
	}
	sequence := &snowraftv1.Sequence{Name: "orders", Generation: 7}
	if got := r.Message(sequence); !proto.Equal(got, &snowraftv1.Sequence{Generation: 7}) {
		t.Errorf("Message() = %v", got)
	}
}

// Archives omit a text field that is not listed. Add a new field to fields with its class.
func TestTextsOfStatusHaveClass(t *testing.T) {
	t.Parallel()
	seen := map[protoreflect.FullName]bool{}
	var look func(d protoreflect.MessageDescriptor)
	look = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if f.Message() != nil {
				look(f.Message())
			} else if classOf(f) == omitted && f.Kind() != protoreflect.BytesKind { // bytes are never included
				t.Errorf("%s has no class in fields", f.FullName())
			}
		}
	}
	look((&snowraftv1.GetStatusResponse{}).ProtoReflect().Descriptor())
	look((&snowraftv1.ListMembersResponse{}).ProtoReflect().Descriptor())
	for message, texts := range fields {
		for text := range texts {
			if !seen[message] {
				t.Errorf("%s.%s is in no archive", message, text)
			}
		}
	}
}
