package trust

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestTokenTextParsesBack(t *testing.T) {
	t.Parallel()
	pin := fixed(1).Authority().Pin()
	for _, want := range []Token{
		{ID: 1, Secret: NewTokenSecret()},
		{ID: 17, Secret: NewTokenSecret(), Pin: pin},
		{ID: math.MaxUint64, Secret: NewTokenSecret(), Pin: pin},
	} {
		got, err := ParseToken(want.Text())
		if err != nil || got != want {
			t.Errorf("ParseToken(%d characters) = %v, %v, want %v", len(want.Text()), got, err, want)
		}
	}
}

func TestTokenText(t *testing.T) {
	t.Parallel()
	token := Token{ID: 17, Secret: *fixed(1).raw()}
	if got, want := token.Text(), "snowraft_17_aebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4qawzzh5iy"; got != want {
		t.Errorf("Text() = %s, want %s", got, want)
	}
}

func TestParseTokenRejects(t *testing.T) {
	t.Parallel()
	text := Token{ID: 17, Secret: *fixed(1).raw(), Pin: fixed(1).Authority().Pin()}.Text()
	pinAt := strings.LastIndex(text, "_") + 1
	for i := range pinAt {
		for _, c := range []byte("1ab7A_=\n") {
			if wrong := text[:i] + string(c) + text[i+1:]; wrong != text {
				if _, err := ParseToken(wrong); err == nil {
					t.Errorf("ParseToken accepts %q at byte %d", c, i)
				} else if strings.Contains(err.Error(), text[12:24]) {
					t.Errorf("error %q contains the secret", err)
				}
			}
		}
	}
	for _, wrong := range []string{
		"", "snowraft", "snowraft_1", text + "_", text + "a", text[:pinAt], text[:pinAt] + strings.Repeat("1", 52),
		strings.Replace(text, "_17_", "_017_", 1), strings.Replace(text, "_17_", "_+17_", 1),
		strings.Replace(text, "_17_", "_0_", 1), strings.Replace(text, "_17_", "_18446744073709551616_", 1), strings.ToUpper(text),
	} {
		if _, err := ParseToken(wrong); err == nil {
			t.Errorf("ParseToken accepts %q", wrong)
		}
	}
}

func TestTokenIsNeverShown(t *testing.T) {
	t.Parallel()
	token := Token{ID: 17, Secret: *fixed(1).raw()}
	inJSON, _ := json.Marshal([]any{token, &token})
	shown := string(inJSON) + fmt.Sprintf("%v %+v %#v %x %q %v", token, token, token, token, &token, []Token{token})
	if strings.Contains(shown, "010203") || strings.Contains(shown, "1 2 3") || strings.Contains(shown, token.Text()[12:24]) {
		t.Errorf("the secret is in %s", shown)
	}
	if !strings.HasPrefix(shown, `["token 17","token 17"]token 17 `) {
		t.Errorf("shown as %s, want token 17", shown)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(Token{ID: 1}.Text())
	f.Add(Token{ID: 17, Secret: *fixed(1).raw(), Pin: fixed(1).Authority().Pin()}.Text())
	f.Add("snowraft_1__")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil && token.Text() != text {
			t.Fatalf("%q parses as %q", text, token.Text())
		}
	})
}
