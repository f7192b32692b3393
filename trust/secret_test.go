package trust

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixed returns the secret whose bytes are n, n+1, n+2, ...
func fixed(n byte) Secret {
	var raw [secretBytes]byte
	for i := range raw {
		raw[i] = n + byte(i)
	}
	return secretOf(&raw)
}

func TestSecretLineParsesBack(t *testing.T) {
	t.Parallel()
	s := NewSecret()
	if s.Equal(NewSecret()) {
		t.Fatal("two new secrets are equal")
	}
	got, err := ParseSecret(s.Line())
	if err != nil || !got.Equal(s) {
		t.Fatalf("ParseSecret(Line()) = %v, %v, want the secret", got, err)
	}
}

func TestParseSecretRejects(t *testing.T) {
	t.Parallel()
	line := fixed(1).Line()
	for i := range line {
		for _, c := range []byte("ab7A=\n ") {
			if wrong := line[:i] + string(c) + line[i+1:]; wrong != line {
				if _, err := ParseSecret(wrong); err == nil {
					t.Errorf("ParseSecret accepts %q at byte %d", c, i)
				} else if strings.Contains(err.Error(), line[len(secretPrefix):][:8]) {
					t.Errorf("error %q contains the line", err)
				}
			}
		}
	}
	for _, wrong := range []string{"", line[:len(line)-1], line + "a", line + "\n", "x" + line} {
		if _, err := ParseSecret(wrong); err == nil {
			t.Errorf("ParseSecret accepts %d bytes", len(wrong))
		}
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	s := fixed(1)
	hidden := struct{ secret Secret }{s}
	inJSON, _ := json.Marshal(map[string]any{"s": s, "p": &s})
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "hidden", hidden)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "p", &s)
	shown := string(inJSON) + log.String() + s.String() + fmt.Errorf("%w: %v", os.ErrInvalid, s).Error()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown += fmt.Sprintf(verb+verb+verb+verb, s, &s, hidden, []Secret{s})
	}
	for _, mark := range []string{s.Line()[len(secretPrefix):][:12], "010203", "1 2 3", "1, 2, 3", "0x1, 0x2", `\x01\x02`} {
		if strings.Contains(shown, mark) {
			t.Errorf("%q found in %s", mark, shown)
		}
	}
	if want := "secret " + s.Fingerprint(); s.String() != want || !strings.Contains(string(inJSON), want) {
		t.Errorf("String() = %s, JSON %s, want %s", s, inJSON, want)
	}
}

func TestReadSecrets(t *testing.T) {
	t.Parallel()
	a, b := fixed(1), fixed(2)
	path := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct {
		content, want string
		secrets       []Secret
	}{
		{content: a.Line(), secrets: []Secret{a}},
		{content: "# old\r\n" + b.Line() + "\r\n\n  " + a.Line() + "  \n", secrets: []Secret{b, a}},
		{content: "# nothing\n", want: "0 secrets: expected 1 to 4, one per line"},
		{content: a.Line() + "\n" + b.Line()[:60] + "\n", want: "line 2: cluster secret: 42 characters: expected 58"},
		{content: a.Line() + "\n\n" + a.Line(), want: "line 3: repeats an earlier secret; remove the line"},
		{content: "password\n", want: `line 1: not a cluster secret: expected a line that begins with "snowraft-secret-1:"`},
		{content: strings.Join([]string{a.Line(), b.Line(), fixed(3).Line(), fixed(4).Line(), fixed(5).Line()}, "\n"), want: "5 secrets"},
		{content: strings.Repeat("#\n", 64<<10), want: "larger than"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecrets(path)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("ReadSecrets() = %v, want an error of %q with %s", err, path, c.want)
			}
			continue
		}
		if err != nil || len(got) != len(c.secrets) {
			t.Fatalf("ReadSecrets() = %v, %v, want %v", got, err, c.secrets)
		}
		for i := range got {
			if !got[i].Equal(c.secrets[i]) {
				t.Errorf("secret %d = %v, want %v", i, got[i], c.secrets[i])
			}
		}
	}
}

func FuzzReadSecrets(f *testing.F) {
	f.Add(fixed(1).Line())
	f.Add("# c\n\n" + fixed(1).Line() + "\r\n" + fixed(2).Line())
	f.Add(secretPrefix)
	f.Fuzz(func(t *testing.T, content string) {
		secrets, err := parseSecrets([]byte(content))
		if err != nil {
			return
		}
		for _, s := range secrets {
			if !strings.Contains(content, s.Line()) {
				t.Fatalf("%v is not in the file", s)
			}
		}
	})
}
