package diagnose

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestTextsHideNames(t *testing.T) {
	t.Parallel()
	r := NewRedactor("a", "default")
	for in, want := range map[string]string{
		`sequence "orders" does not exist; create it with "snowraft seq create orders"`: `sequence "(omitted)" does not exist; create it with "(omitted)"`,
		`no window of layout "default" for "a"`:                                         `no window of layout "default" for "a"`,
		`cut off: sequence "ord`:                                                        `cut off: sequence "(omitted)`,
		`cut off: "ord\`:                                                                `cut off: "(omitted)`,
		`no sequence "or\"ders\u00e9" here`:                                             `no sequence "(omitted)" here`,
		`token 17 lacks the scope seq:next:orders`:                                      `token 17 lacks the scope (omitted)`,
		`right seq:next:orders for a`:                                                   `right seq:next:(omitted)`,
		`token 17 (orders): refused`:                                                    `token 17 ((omitted)`,
		`"orders", ("orders")`:                                                          `"(omitted)", ("(omitted)")`,
		`member b" at 10.0.0.1:7702: sequence "orders"`:                                 `member b"(omitted)`,
		`refused: ""`:                        `refused: ""`,
		`member b at 10.0.0.1:7702: refused`: `member b at 10.0.0.1:7702: refused`,
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%s) = %s\nwant %s", in, got, want)
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
	r := NewRedactor("a", "b")
	for _, n := range hostile {
		for _, text := range []string{
			fmt.Sprintf("sequence %q: holder %q, (%+q); see %q", n, n, n, "snowraft seq show "+n), "token 17 lacks the scope seq:next:" + n, fmt.Sprintf("raft knows %q", n),
		} {
			if got := r.Text(text); strings.Contains(got, "SECRET") {
				t.Errorf("Text(%q) = %s", text, got)
			}
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
		r := NewRedactor(m)
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

func TestMetricsShowKnownLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	issued := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "snowraft_issued_total", Help: "Issued."}, []string{"layout"})
	named := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "snowraft_remaining", Help: "Remaining."}, []string{"layout", "sequence"})
	other := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "other_total", Help: "Other."}, []string{"layout"})
	registry.MustRegister(issued, named, other)
	issued.WithLabelValues("default").Inc()
	named.WithLabelValues("default", "orders").Set(1)
	other.WithLabelValues("default").Inc()
	var b bytes.Buffer
	if err := writeMetrics(&b, registry); err != nil {
		t.Fatal(err)
	}
	want := "# HELP snowraft_issued_total Issued.\n# TYPE snowraft_issued_total counter\n" +
		"snowraft_issued_total{layout=\"default\"} 1\n"
	if b.String() != want {
		t.Errorf("metrics:\n%swant:\n%s", b.String(), want)
	}
}

func TestUnknownTextsOfMessagesAreOmitted(t *testing.T) {
	t.Parallel()
	r := NewRedactor()
	in := &snowraftv1.GetStatusResponse{
		Name: "a", Term: 7, Problem: `sequence "orders"`, SecretFingerprints: []string{"f"},
		Lanes: []*snowraftv1.Lane{{Layout: "default", Problem: `"orders"`}}, Quorum: &snowraftv1.Quorum{Voters: 3},
	}
	want := proto.CloneOf(in)
	want.Problem, want.Lanes[0].Problem = `sequence "(omitted)"`, `"(omitted)"`
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
