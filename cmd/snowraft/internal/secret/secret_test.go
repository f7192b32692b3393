package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/trust"
)

var program = clitest.Commands{New}

func TestSecretCreatePrintsALine(t *testing.T) {
	t.Parallel()
	line := program.Succeeds(t, "secret", "create")
	s, err := trust.ParseSecret(line[:len(line)-1])
	if err != nil || s.Line()+"\n" != line {
		t.Errorf("secret create prints %d bytes: %v", len(line), err)
	}
	if program.Succeeds(t, "secret", "create") == line {
		t.Error("secret create prints the same secret twice")
	}
	var created Created
	clitest.Decode(t, program.Succeeds(t, "secret", "create", "-o", "json"), &created)
	if s, err = trust.ParseSecret(created.Secret); err != nil || s.Fingerprint() != created.Fingerprint || created.File != "" {
		t.Errorf("secret create -o json prints the fingerprint %q and the file %q: %v", created.Fingerprint, created.File, err)
	}
}

func TestSecretCreateWritesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	var created Created
	clitest.Decode(t, program.Succeeds(t, "secret", "create", "--out", path, "-o", "json"), &created)
	secrets, err := trust.ReadSecrets(path)
	if err != nil || len(secrets) != 1 {
		t.Fatalf("the file has %v, %v", secrets, err)
	}
	if want := (Created{File: path, Fingerprint: secrets[0].Fingerprint()}); created != want {
		t.Errorf("secret create prints %+v, want %+v", created, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
	if _, _, code := program.Run(t, "secret", "create", "--out", path); code == 0 {
		t.Error("secret create overwrites a file")
	}
	if again, err := trust.ReadSecrets(path); err != nil || !again[0].Equal(secrets[0]) {
		t.Errorf("the file has %v, %v after a refusal, want %v", again, err, secrets)
	}
	other := path + "2"
	if got, want := program.Succeeds(t, "secret", "create", "--out", other), "created secret file \""+other+"\"; fingerprint: "; len(got) != len(want)+17 || got[:len(want)] != want {
		t.Errorf("secret create prints %q, want %q and a fingerprint", got, want)
	}
}

func TestSecretCreateKeepsAnExistingSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	var created, kept Created
	clitest.Decode(t, program.Succeeds(t, "secret", "create", "--out", path, "--if-missing", "-o", "json"), &created)
	clitest.Decode(t, program.Succeeds(t, "secret", "create", "--out", path, "--if-missing", "-o", "json"), &kept)
	if secrets, err := trust.ReadSecrets(path); err != nil || created != kept || secrets[0].Fingerprint() != kept.Fingerprint {
		t.Errorf("the file has %v, %v, after %+v and %+v", secrets, err, created, kept)
	}
	if got, want := program.Succeeds(t, "secret", "create", "--out", path, "--if-missing"), "kept secret file \""+path+"\"; fingerprint: "+kept.Fingerprint+"\n"; got != want {
		t.Errorf("secret create prints %q, want %q", got, want)
	}
	if err := os.WriteFile(path, []byte("no secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--out", path}, {}} { // a file without a secret; no file
		if _, _, code := program.Run(t, append([]string{"secret", "create", "--if-missing"}, args...)...); code != cli.ExitUsage {
			t.Errorf("secret create --if-missing %q: exit code %d, want %d", args, code, cli.ExitUsage)
		}
	}
}

// secretFile is a file with the secrets of the golden test of package trust.
const secretFile = "testdata/secret-file"

func TestGoldenSecret(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(secretFile)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "secret") // readable by this user only
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, line := range []string{"list", "list -o json", "ca", "ca -o json"} {
		line = "secret " + line + " --secret-file "
		text += "$ snowraft " + line + secretFile + "\n" + program.Succeeds(t, strings.Fields(line+path)...)
	}
	clitest.Golden(t, "secret", text)
}

// The list names the members that know each secret, and the members that do not, also for secrets that the file lacks. It says
// which clients need a secret that no member signs with. A member that does not answer is named.
func TestSecretListAsksMembers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	got, warning, code := program.Run(t, "secret", "list", "--addr", f.Address)
	if want := `FINGERPRINT       IN FILE  KNOWN BY  NOT KNOWN BY  SIGNED BY
fc8921786d643a5a  no       a         b             -
0123456789abcdef  no       a, b      -             a

fc8921786d643a5a is needed by no open connection; the last ones were of 10.0.9.7 with token 18 (2026-11-14T14:02:18.000Z)
0123456789abcdef is in use: members sign with it
`; got != want || code != 0 {
		t.Errorf("secret list prints\n%swant\n%s", got, want)
	}
	if want := "snowraft: warning: uses at these members are unknown, because they do not answer: b\n"; warning != want {
		t.Errorf("secret list warns %q, want %q", warning, want)
	}
	got, _, _ = program.Run(t, "secret", "list", "--addr", f.Address, "-o", "json")
	if want := `{"secrets":[{"fingerprint":"fc8921786d643a5a","pin":"","inFile":false,"knownBy":["a"],"notKnownBy":["b"],"neededBy":[` +
		`{"host":"10.0.9.7","token":"18","name":"ids","secretFingerprint":"fc8921786d643a5a","refused":"","count":"1","open":0,"lastAtMs":"1794664938000"}]},` +
		`{"fingerprint":"0123456789abcdef","pin":"","inFile":false,"knownBy":["a","b"],"signedBy":["a"],"neededBy":[` +
		`{"host":"10.0.9.5","token":"17","name":"billing","secretFingerprint":"0123456789abcdef","refused":"","count":"3","open":2,"lastAtMs":"1794751338000"}]}]}` + "\n"; got != want {
		t.Errorf("secret list prints %s, want %s", got, want)
	}
}

// A secret can be removed when no member signs with it and no client needs it, as far as all members say.
func TestAdviceToRemoveASecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		known    Known
		complete bool
		want     string
	}{
		{Known{SignedBy: []string{"a"}}, true, "f is in use: members sign with it"},
		{Known{NeededBy: []cli.Use{{Host: "10.0.0.9", Token: 7, Open: 1}}}, true, "f is needed by 10.0.0.9 with token 7 (now)"},
		{Known{NeededBy: make([]cli.Use, 7)}, true, ", 2 more"},
		{Known{}, false, "f may be needed: not all members answered"},
		{Known{}, true, "it can be removed"},
	} {
		c.known.Fingerprint = "f"
		if got := c.known.advice(c.complete); !strings.HasSuffix(got, c.want) {
			t.Errorf("advice for %+v is %q, want %q", c.known, got, c.want)
		}
	}
}
