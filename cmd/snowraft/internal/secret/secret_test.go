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

// The list names the members that know each secret, and the members that do not, also for secrets that the file lacks.
func TestSecretListAsksMembers(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	if got, want := program.Succeeds(t, "secret", "list", "--addr", f.Address), `FINGERPRINT       IN FILE  KNOWN BY  NOT KNOWN BY
fc8921786d643a5a  no       a         b
0123456789abcdef  no       a, b      -
`; got != want {
		t.Errorf("secret list prints\n%swant\n%s", got, want)
	}
	if got, want := program.Succeeds(t, "secret", "list", "--addr", f.Address, "-o", "json"),
		`{"secrets":[{"fingerprint":"fc8921786d643a5a","pin":"","inFile":false,"knownBy":["a"],"notKnownBy":["b"]},`+
			`{"fingerprint":"0123456789abcdef","pin":"","inFile":false,"knownBy":["a","b"]}]}`+"\n"; got != want {
		t.Errorf("secret list prints %s, want %s", got, want)
	}
}
