//go:build process

package processtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/trust"
)

// TestSecretsStayInsideDev searches the output of dev and bench, and the files of dev. dev prints the token once, for the user.
func TestSecretsStayInsideDev(t *testing.T) {
	t.Parallel()
	base, data := portBase(t), filepath.Join(t.TempDir(), "data")
	d := startDev(t, base, "--secure", "--data-dir", data, "--log-level", "debug")
	found := devToken.FindStringSubmatch(d.stdout.String())
	if found == nil {
		t.Fatalf("no token in %s", d.stdout.String())
	}
	s := &secretive{secrets: make(marked), out: make(map[string][]byte)}
	file := filepath.Join(data, "secret")
	s.secret(t, file)
	var err error
	if s.token, err = trust.ParseToken(found[1]); err != nil {
		t.Fatal(err)
	}
	s.wrong = trust.Token{ID: s.token.ID, Secret: [32]byte(random(t, 32)), Pin: s.token.Pin}
	s.secrets["the token"], s.secrets["the wrong token"] = s.token.Secret[:], s.wrong.Secret[:]
	if s.config, err = (trust.ClientTLS{Token: s.token.Text()}).Config(); err != nil {
		t.Fatal(err)
	}

	if _, stderr, code := command(t, d.env, "seq", "create", "bench", "--mode", "relaxed", "--secret-file", file); code != 0 {
		t.Fatal(stderr)
	}
	s.bench(t, d, "of the token", 0, "--token", s.token.Text())
	s.bench(t, d, "of the secret file", 0, "--secret-file", file)
	s.bench(t, d, "of a wrong token", 1, "--token", s.wrong.Text())
	s.redis(t, portOf(t, base, 4), s.config)
	d.interrupt()
	again := startDev(t, base, "--secure", "--data-dir", data, "--log-level", "debug")
	again.interrupt()

	s.add("the output of dev", []byte(strings.Replace(d.stdout.String(), found[1], "", 1)+again.stdout.String()))
	s.add("the log of dev", []byte(d.stderr.String()+again.stderr.String()))
	for _, want := range []string{"DEBUG", "CreateToken"} {
		if !bytes.Contains(s.out["the log of dev"], []byte(want)) {
			t.Errorf("the log of dev lacks %q", want)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.directory(t, "dev", data)
	s.search(t)
}

// bench runs all commands of bench against dev, until each ends with the exit code want: a busy machine may have no leader for a while.
func (s *secretive) bench(t *testing.T, d *dev, where string, want int, flags ...string) {
	t.Helper()
	for _, line := range []string{"ids", "ids --coalesce", "seq bench", "seq bench --coalesce"} {
		args := append([]string{"bench", "-d", "100ms", "-o", "json"}, strings.Fields(line)...)
		var all string
		until(t, "bench "+line+" "+where, func() bool {
			stdout, stderr, code := command(t, d.env, append(args, flags...)...)
			all += stdout + stderr
			return code == want
		})
		s.add("bench "+line+" "+where, []byte(all))
	}
}

// portOf returns the address of the port n after the first port of dev.
func portOf(t *testing.T, base string, n int) string {
	t.Helper()
	first, err := strconv.Atoi(base)
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strconv.Itoa(first+n)
}
