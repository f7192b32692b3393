package redis_test

import (
	"regexp"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// CLIENT INFO and CLIENT LIST name the version of the protocol, and are texts for people in RESP3.
func TestClientInfoShowsTheProtocol(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	for sent, want := range map[string]string{
		"CLIENT INFO\r\n":            `^\$\d+\r\nid=.* resp=2\n\r\n$`,
		"HELLO 3\r\nCLIENT INFO\r\n": `(?s)^%7\r\n.*=\d+\r\ntxt:id=.* resp=3\n\r\n$`,
		"HELLO 3\r\nCLIENT LIST\r\n": `(?s)^%7\r\n.*=\d+\r\ntxt:id=.* resp=3\n\r\n$`,
	} {
		if got := all(t, addr, sent); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q: got %q, want %s", sent, got, want)
		}
	}
}
