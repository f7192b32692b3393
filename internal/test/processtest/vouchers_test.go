//go:build process

package processtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVouchers plays the section about vouchers in docs/sequences-howto.md, whose codes differ in each cluster.
func TestVouchers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/sequences-howto.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Issue voucher codes\n")
	commands := regexp.MustCompile(`(?m)^\$ snowraft (.*)$`).FindAllStringSubmatch(section, 5)
	if !found || len(commands) != 5 {
		t.Fatalf("the page has the commands %q", commands)
	}
	words := func(i int) []string {
		return strings.Fields(strings.ReplaceAll(commands[i][1], "'", ""))
	}
	m := startCluster(t, 1)[0]
	mustSucceed(t, m, words(0)...)
	codes := strings.Fields(mustSucceed(t, m, words(1)...))
	if len(codes) != 3 || !regexp.MustCompile(`^(V-[0-9A-HJKMNP-TV-Z]{8}[0-9A-HJKMNP-TV-Z*~$=U] ?){3}$`).MatchString(strings.Join(codes, " ")) || codes[0] == codes[1] {
		t.Fatalf("the codes are %q", codes)
	}
	decode := func(i int, text string) []string { return append(words(i)[:3], text) }
	if out := mustSucceed(t, m, decode(2, codes[1])...); !strings.Contains(out, "Number  2\n") || !strings.Contains(out, "State   granted\n") {
		t.Errorf("%s", out)
	}
	check := "0"
	if strings.HasSuffix(codes[1], check) {
		check = "1"
	}
	if _, stderr, code := command(t, at(m), decode(3, codes[1][:len(codes[1])-1]+check)...); code != 1 || !strings.Contains(stderr, `the check digit "`+check+`" of {check:crockford} does not match`) {
		t.Errorf("a wrong check digit: exit code %d, %s", code, stderr)
	}
	mustSucceed(t, m, "seq", "update", "vouchers", "--max", "200")
	if _, stderr, code := command(t, at(m), append(words(4), "-n", "1000")...); code != 1 || !strings.Contains(stderr, "SEQUENCE_EXHAUSTED") {
		t.Errorf("after the last code: exit code %d, %s", code, stderr)
	}
}
