package seq

import (
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var program = clitest.Commands{New}

func TestManyNumbers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	const n = 2_000_001
	lines := strings.Split(program.Succeeds(t, "seq", "next", "orders", "-n", strconv.Itoa(n), "--addr", f.Address), "\n")
	if len(lines) != n+1 || lines[0] != "7" || lines[n-1] != "2000007" || lines[n] != "" {
		t.Errorf("%d lines from %s", len(lines), lines[0])
	}
	var counts []uint32
	for _, r := range f.Requests() {
		counts = append(counts, r.(*snowraftv1.NextNumbersRequest).GetCount())
	}
	if want := []uint32{1_000_000, 1_000_000, 1}; !reflect.DeepEqual(counts, want) {
		t.Errorf("the requests are for %v, want %v", counts, want)
	}
	var texts []string
	for line := range strings.Lines(program.Succeeds(t, "seq", "next", "countdown", "-n", "1000002", "-o", "json", "--addr", f.Address)) {
		resp := nextResponse(t, line)
		if int(resp.GetCount()) != len(resp.GetTexts()) || strconv.FormatInt(resp.GetFirst(), 10) != resp.GetTexts()[0] {
			t.Errorf("%d numbers from %d, but %d texts from %s", resp.GetCount(), resp.GetFirst(), len(resp.GetTexts()), resp.GetTexts()[0])
		}
		texts = append(texts, resp.GetTexts()...)
	}
	if len(texts) != 1_000_002 || texts[0] != "-1999991" || texts[1_000_001] != "-2999992" {
		t.Errorf("%d texts from %s", len(texts), texts[0])
	}
}

func nextResponse(t *testing.T, line string) *snowraftv1.NextNumbersResponse {
	t.Helper()
	resp := &snowraftv1.NextNumbersResponse{}
	if err := apijson.Unmarshal([]byte(line), resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

// Members format up to a thousand numbers, and the program formats the numbers of larger responses.
// The result must be equal.
func TestManyFormattedNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"1000", "1001"} {
		f := clitest.NewAPI(t)
		lines := strings.Split(program.Succeeds(t, "seq", "next", "invoices", "-n", n, "--addr", f.Address), "\n")
		if lines[0] != `"20261021"010` || lines[10] != `"20261021"000` || lines[11] != `"20261021"-001` || lines[999] != `"20261021"-989` {
			t.Errorf("-n %s: %q, %q, %q, %q", n, lines[0], lines[10], lines[11], lines[999])
		}
		texts := nextResponse(t, program.Succeeds(t, "seq", "next", "invoices", "-n", n, "-o", "json", "--addr", f.Address)).GetTexts()
		if strconv.Itoa(len(texts)) != n || !strings.HasPrefix(texts[0], `"20261021"-`) {
			t.Errorf("-n %s: %d texts from %v", n, len(texts), texts[:1])
		}
	}
}

// The command refuses a response with a wrong number of numbers.
func TestOtherCountThanAskedFor(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Short = true
	stdout, stderr, code := program.Run(t, "seq", "next", "orders", "-n", "5", "--addr", f.Address)
	if want := "snowraft: the member answered with 4 numbers, expected 5\n"; code != cli.ExitFailed || stderr != want || stdout != "" {
		t.Errorf("exit code %d, %q, %q, want %q", code, stdout, stderr, want)
	}
}

func TestUnreachedMembers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Unreached = []string{"b", "c"}
	const stale = "until they learn of the change, they may issue numbers of the blocks that they hold"
	for line, means := range map[string]string{
		"seq create orders":         "they may not know the sequence yet",
		"seq update orders --max 9": stale,
		"seq set orders 9":          stale,
		"seq delete orders":         stale,
	} {
		stdout, stderr, code := program.Run(t, append(strings.Fields(line), "--addr", f.Address, "-o", "json")...)
		if want := "snowraft: warning: change committed; not acknowledged in time by members: b, c; " + means + "\n"; code != cli.ExitDone || stderr != want {
			t.Errorf("%s: exit code %d, %q, want %q", line, code, stderr, want)
		}
		if !strings.Contains(stdout, `"unreachedMembers":["b","c"]`) {
			t.Errorf("%s: the document does not say: %s", line, stdout)
		}
	}
}

func TestSequenceRefusals(t *testing.T) {
	t.Parallel()
	for line, e := range map[string]*rpc.Error{
		"seq next ordes":             {Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: `sequence "ordes" does not exist; did you mean "orders"?`},
		"seq create orders --min 0":  {Code: codes.AlreadyExists, Reason: rpc.SequenceExists, Message: "another"},
		"seq next countdown":         {Code: codes.ResourceExhausted, Reason: rpc.SequenceExhausted, Message: "no number is left"},
		"seq set orders 1":           {Code: codes.FailedPrecondition, Reason: rpc.WouldRepeat, Message: "1 to 100 would repeat"},
		"seq get orders":             {Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "this member is ending"},
		"seq last orders":            {Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: "bad"},
		"seq delete orders":          {Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: "no"},
		"seq list":                   {Code: codes.Internal, Reason: "NEW", Message: "no"},
		"seq next orders":            {Code: codes.NotFound, Reason: rpc.UnknownSequence, Message: "no"},
		"seq update orders --max 10": {Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow, Message: "upgrade"},
	} {
		f := clitest.NewAPI(t)
		f.Refuse(e)
		stdout, stderr, code := program.Run(t, append(strings.Fields(line), "--addr", f.Address)...)
		exit := cli.ExitFailed
		if e.Reason == rpc.ShuttingDown {
			exit = cli.ExitRepeatable
		}
		if want := "snowraft: " + e.Message + " [" + e.Reason + "]\n"; code != exit || stderr != want || stdout != "" {
			t.Errorf("%s: exit code %d, %q, %q, want %q", line, code, stdout, stderr, want)
		}
	}
}

func TestSequenceNamesComplete(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	complete := func(args ...string) string {
		w := clitest.New()
		a := w.App("test")
		w.Environ["SNOWRAFT_ADDR"] = f.Address
		a.Stderr = io.Discard // cobra reports the directive there
		if code := program.In(t.Context(), a, append([]string{"__complete"}, args...)...); code != cli.ExitDone {
			t.Errorf("%q: exit code %d", args, code)
		}
		return w.Out.String()
	}
	const nothing = ":4\n" // the directive: no files
	const invoices = "invoices\toutgoing <invoices>\n" + nothing
	for _, c := range []struct {
		line, want string
	}{
		{"seq next in", invoices}, {"seq get in", invoices}, {"seq update in", invoices}, {"seq delete in", invoices}, {"seq last in", invoices},
		{"seq set in", invoices}, {"seq list --prefix in", invoices},
		{"seq next x", nothing}, {"seq next orders o", nothing}, {"seq set orders o", nothing}, {"seq next --addr " + clitest.DeadAddress + " in", nothing},
	} {
		if got := complete(strings.Fields(c.line)...); got != c.want {
			t.Errorf("%s: offers %q, want %q", c.line, got, c.want)
		}
	}
}
