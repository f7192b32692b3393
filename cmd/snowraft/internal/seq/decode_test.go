package seq

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
)

func TestDecodedTexts(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	stdout, stderr, code := program.Run(t, "seq", "decode", "old", "V-1", "V-2", "--addr", f.Address)
	if want := "TEXT  NUMBER  PERIOD      FORMAT                         STATE\n" +
		"V-1   17      2026-01-01  V-{date:yyyy}-{code:base32:8}  not-granted\n" +
		"V-2   17      2026-01-01  V-{date:yyyy}-{code:base32:8}  not-granted\n"; stdout != want || code != cli.ExitDone {
		t.Errorf("exit code %d, %s, want %s", code, stdout, want)
	}
	if want := "snowraft: warning: V-1: the number 17 was not issued\nsnowraft: warning: V-2: the number 17 was not issued\n"; stderr != want {
		t.Errorf("%s, want %s", stderr, want)
	}
	stdout, _, _ = program.Run(t, "seq", "decode", "vouchers", "V-1", "V-2", "-o", "json", "--addr", f.Address)
	if lines := strings.Split(stdout, "\n"); len(lines) != 3 || !strings.Contains(lines[1], `"text":"V-2"`) {
		t.Errorf("%s", stdout)
	}
	f.Refuse(&rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: "the check digit is wrong"})
	for line, want := range map[string]string{"V-1": "snowraft: the check digit is wrong", "V-1 V-2": "snowraft: TEXT 1: the check digit is wrong"} {
		stdout, stderr, code := program.Run(t, append([]string{"seq", "decode", "vouchers", "--addr", f.Address}, strings.Fields(line)...)...)
		if code != cli.ExitFailed || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: exit code %d, %s%s, want %s", line, code, stdout, stderr, want)
		}
	}
}
