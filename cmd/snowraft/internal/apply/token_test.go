package apply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const tokenFile = `
sequences:
  orders: {start: 1}
tokens:
  billing:
    scopes: [seq:next:orders, seq:read:orders]
    rate: 1000
  ids:
    scopes: [ids:issue:default]
    expires: 2100-01-01T00:00:00Z
    rate: 10
    burst: 50
    sequences: 7
  anonymous:
    scopes: [metrics:read, ids:issue:default]
`

// The secret of a new token goes to its file, and to no output. Other changes of a token need no new secret.
func TestSecretsGoToFiles(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	dir := filepath.Join(c.dir, "secrets")
	if stdout, _, code := c.apply(tokenFile); code != cli.ExitFailed || !strings.Contains(stdout, "set --secrets-dir") {
		t.Fatalf("without a directory: exit code %d, %s", code, stdout)
	}
	if stdout, _, code := c.apply(tokenFile, "--dry-run"); code != cli.ExitDiffers {
		t.Fatalf("dry run: exit code %d, %s", code, stdout)
	}
	stdout := c.applied(tokenFile, "created: 3, changed: 1, deleted: 0, unchanged: 0", "--secrets-dir", dir)
	text, err := os.ReadFile(filepath.Join(dir, "billing.token"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "billing.token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	secret := strings.TrimSpace(string(text))
	if strings.Contains(stdout, "snowraft_") || strings.Contains(stdout, secret) {
		t.Errorf("the output has the secret: %s", stdout)
	}
	r, err := cli.Dial([]string{c.APIAddr()}, time.Minute, cli.Access{Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if resp, err := r.Sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil || resp.GetFirst() != 1 {
		t.Errorf("with the secret of the file: %v, %v", resp, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	c.applied(tokenFile, "no differences; unchanged: 4", "--secrets-dir", dir)
	file := c.export()
	if strings.Contains(file, secret) || strings.Contains(file, "snowraft_") {
		t.Errorf("the description has a secret:\n%s", file)
	}
	c.applied(file, "no differences; unchanged: 5")

	// The burst stays when the rate falls to it and below.
	for _, rate := range []string{"rate: 50\n", "rate: 20\n"} {
		changed := strings.NewReplacer("rate: 10\n", rate, ", seq:read:orders", "").Replace(tokenFile)
		if stdout, _, code := c.apply(changed); code != cli.ExitDone || !strings.Contains(stdout, "rate: ") {
			t.Errorf("%s: exit code %d, %s", rate, code, stdout)
		}
		c.applied(changed, "no differences; unchanged: 4")
	}
	if _, err := r.Sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 1}); err != nil {
		t.Errorf("after a change of scopes: %v", err)
	}

	// A secret replaces no file.
	if stdout, _, code := c.apply("tokens: {billing: {scopes: ['seq:next:orders']}, anonymous: {scopes: []}}", "--prune", "--yes"); code != cli.ExitDone {
		t.Fatalf("prune: exit code %d, %s", code, stdout)
	}
	if stdout, _, code := c.apply(tokenFile, "--secrets-dir", dir); code != cli.ExitFailed || !strings.Contains(stdout, "the file exists") {
		t.Errorf("an existing file: exit code %d, %s", code, stdout)
	}
	for _, bad := range []string{"tokens: {'17': {scopes: []}}", "tokens: {a/b: {scopes: []}}"} {
		if stdout, _, code := c.apply(bad, "--secrets-dir", dir); code != cli.ExitFailed || !strings.Contains(stdout, "! token") {
			t.Errorf("%s: exit code %d, %s", bad, code, stdout)
		}
	}
	if stdout, _, code := c.apply("tokens: {old: {scopes: [], expires: -1}, bare: {scopes: [], burst: 5}}", "--secrets-dir", dir); code != cli.ExitFailed || !strings.Contains(stdout, "refused: 2") {
		t.Errorf("expired: exit code %d, %s", code, stdout)
	}
	if exists(filepath.Join(dir, "17.token")) {
		t.Error("a refused token has a file")
	}
}

// A token whose secret cannot be written is deleted again.
func TestTokenWithoutAFileIsDeleted(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	dir := filepath.Join(c.dir, "secrets")
	s := &secrets{dir}
	r, err := s.reserve("app")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Discard()
	if err := os.WriteFile(s.path("app"), nil, 0o600); err != nil { // another process is faster
		t.Fatal(err)
	}
	_, err = tokens{Remote: c.remote, secrets: s}.create(t.Context(), &snowraftv1.Token{Name: "app", Scopes: []string{"cluster:read"}})
	if err == nil || !strings.Contains(err.Error(), "the file exists; the token was deleted again") {
		t.Errorf("create() = %v", err)
	}
	if _, err := c.remote.Tokens.GetToken(t.Context(), &snowraftv1.GetTokenRequest{Token: "app"}); !unknown(err) {
		t.Errorf("the token exists: %v", err)
	}
}

// A command deletes all tokens that the file lacks, except the one that it uses.
func TestPruneKeepsItsOwnToken(t *testing.T) {
	t.Parallel()
	c := startCluster(t, true)
	text := func(name string) string {
		resp, err := c.remote.Tokens.CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: name, Scopes: []string{"tokens:admin", "cluster:read"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trust.ParseToken(resp.GetText()); err != nil {
			t.Fatal(err)
		}
		return resp.GetText()
	}
	own := text("own")
	text("other")
	w := clitest.New()
	w.Environ["SNOWRAFT_TOKEN"] = own
	w.In.WriteString("tokens: {}")
	code := clitest.Commands{New}.In(t.Context(), w.App("test"), "apply", "-f", "-", "--prune", "--yes", "--addr", c.APIAddr())
	if got := w.Out.String(); code != cli.ExitDone || !strings.HasPrefix(got, "- token other\n\n") || !strings.Contains(got, "deleted: 1") {
		t.Errorf("exit code %d, %s%s", code, got, w.Err.String())
	}
}
