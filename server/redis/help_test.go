package redis_test

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// HELP lists exactly the implemented subcommands.
func TestHelp(t *testing.T) {
	t.Parallel()
	for name, subs := range map[string][]string{
		"CLIENT":  {"GETNAME", "ID", "INFO", "LIST", "REPLY", "SETINFO", "SETNAME", "TRACKING", "NO-EVICT", "NO-TOUCH", "HELP"},
		"COMMAND": {"(no", "COUNT", "LIST", "INFO", "DOCS", "HELP"},
		"CONFIG":  {"GET", "HELP"},
	} {
		_, addr := start(t, redis.Config{Backend: &fake{}})
		lines := strings.Split(strings.TrimSuffix(all(t, addr, name+" help\r\n"), "\r\n"), "\r\n")
		if want := "+" + name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"; len(lines) < 2 || lines[1] != want {
			t.Fatalf("%s HELP: %q", name, lines)
		}
		var named []string
		for _, line := range lines[2:] {
			if !strings.HasPrefix(line, "+    ") {
				named = append(named, strings.Fields(strings.TrimPrefix(line, "+"))[0])
			}
		}
		if got, want := strings.Join(named, " "), strings.Join(subs, " "); got != want {
			t.Errorf("%s HELP names %s, want %s", name, got, want)
		}
		for _, sub := range named {
			if answer := all(t, addr, name+" "+sub+"\r\n"); sub != "(no" && strings.Contains(answer, "unknown subcommand") {
				t.Errorf("%s %s: %s", name, sub, answer)
			}
		}
	}
}
