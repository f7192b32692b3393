package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// Each usage error names the valid values, a constraint or an action. "expected" precedes a value.
var (
	constraint = regexp.MustCompile(`expected |; | must | cannot `)
	noValue    = regexp.MustCompile(`(?m)expected (none$|without|only|another|one of those|no less|either|flags as|what)\b`)
)

// ascii returns a command line with the characters outside ASCII escaped.
func ascii(line string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(line, `\xff`) {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestUsageErrors checks that every usage error exits with code 2, and prints one line on standard
// error with the wrong value and the expected values.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var report strings.Builder
	fmt.Fprintf(&report, "Each command line is followed by what it prints. The exit code is %d.\n\n", cli.ExitUsage)
	wrong := func(environ map[string]string, args ...string) {
		a := newTestApp()
		a.Environ = environ
		code := run(t.Context(), a.Host, args)
		stderr := a.Err.String()
		if code != cli.ExitUsage || a.Out.String() != "" || strings.Count(stderr, "\n") != 1 || !constraint.MatchString(stderr) || noValue.MatchString(stderr) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want one line with a constraint and exit code 2", args, code, a.Out.String(), stderr)
		}
		for name, value := range environ {
			fmt.Fprintf(&report, "%s=%s ", name, value)
		}
		line := ascii(strings.Join(args, " "))
		fmt.Fprintf(&report, "%s\n  %s", strings.ReplaceAll(line, dir, "DIR"), strings.ReplaceAll(stderr, dir, "DIR"))
	}
	for _, line := range []string{
		"stat", "stauts", "ids", "sequence", "leave", "create", "xyzzy", "help nope", "help id nope", "layout", "layout crate", "completion", "completion tcsh",
		"serve now", "decode", "decode x 1", "encode 1 2", "completion bash x", "version 1",
		"id --foo", "id -z", "id --count", "id -n", "id -n 0", "id -n -1", "id -n x", "id -n 18446744073709551616", "id --output yaml", "id --encoding base64",
		"id --addr here", "id --addr :7700", "id --addr a:0", "id --addr ::1:7700", "id --addr a:1,fe80::1:7700", "id --addr a:1,,b:2", "id --timeout 0s", "id --timeout 5",
		"id --after x", "id --after Z --encoding hex", "id --uuid --encoding hex", "id --uuid --after 1", "id --after 019b76da-a800",
		"decode x", "decode 99999999999999999999999", "decode --encoding base58 0", "decode 1 --layout orders",
		"decode 019b76da-a800", "decode 019b76da-a800-7806-8010-c885bc185cbx", "decode 019b76da-a800-4806-8010-c885bc185cb8",
		"decode 0000018b-cfe5-7801-8000-000000000000", "decode 018bcfe5-6801-7000-8000-000000000000 --layout baidu",
		"decode 019b76da-a800-7806-8010-c885bc185cb8 --layout orders", "decode 019b76da-a800-7806-8010-c885bc185cb8 --encoding hex",
		"decode 9223372036854775807 --layout jssafe", "decode 1 --server=perhaps", "whois x",
		"whois 9223372036854775808", "id --after 18446744073709551615",
		"encode", "encode x", "encode x --from base62 --worker 1", "encode --from hex", "encode 1 --layout twitter", "encode 019b76da-a800-7806-8010-c885bc185cb8 --from hex", "encode --time now",
		"encode --time 2020-01-01T00:00:00Z", "encode --time 2095-01-01T00:00:00Z", "encode --time 1 --tick 1", "encode --tick -1",
		"encode --tick 2199023255552", "encode --tick 1 --worker 1024", "encode --tick 1 --datacenter 1", "encode --tick 1 --sequence 4096",
		"encode --tick 1 --layout orders",
		"layout create", "layout create a", "layout create a --preset nope", "layout create a --preset instagram", "layout create a --preset mastodon",
		"layout create a --preset twitter --fields time:41", "layout create a --preset twitter --datacenter 32",
		"layout create A --preset twitter", "layout create a --fields time:41", "layout create a --fields time", "layout create a --fields time:41,worker:10,sequence:13",
		"layout create a --fields time:41,worker:10,sequence:12 --unit 1us", "layout create a --fields time:41,worker:10,sequence:12 --epoch soon",
		"layout create a --fields time:41,worker:10,sequence:12 --spread 4097",
		"secret", "secret show", "secret create x", "secret create --out=", "secret create --out /", "secret list", "secret ca", "secret list --secret-file /no/such/file",
		"backup", "backup a b", "backup a --stale --data-dir b", "backup --data-dir= a", "backup inspect", "backup inspect /no/such/file", "backup /no/such/dir/a", "backup a --data-dir /no/such/dir",
		"debug", "debug /no/such/dir/a",
		"restore", "restore a", "restore a --data-dir b", "restore /no/such/file --data-dir b --old-ended now", "restore a --data-dir b --old-max-window 1ms",
		"restore acknowledge now",
		"cluster supersede",
		"seq resume", "seq resume a", "seq resume a --after 5", "seq resume a --after x", "seq resume a --after default", "seq resume a --margin -1", "seq resume a --holders-stopped",
		"seq resume a --after 5 --holders-stopped --margin 1", "seq resume a --all", "seq resume --all", "seq resume --all --skip 0", "seq resume --all --skip 1 --margin 1",
		"seq resume --formats-kept", "seq resume a --formats-kept --format-was A{seq}", "seq resume --all --skip 1 --format-was A{seq}", "seq resume a --format-was=",
		"seq resume a --period 2026 --after 5 --formats-kept", "seq resume a --holders-stopped --formats-kept", "seq resume a --skip 1", "seq resume --file /no/such/file --holders-stopped", "seq resume --file a --after 1",
		"member add here", "member remove", "member leave --addr a:1,b:2", "leader transfer a b",
		"config set", "config set --max-window 10ms", "config set --rollback maybe",
		"seq", "seq nxt a", "seq create", "seq get", "seq list a", "seq next", "seq next a b", "seq set a", "seq set a x", "seq set a -- -x",
		"seq set a -5", "seq create $orders", "seq create cafe\u0301", "seq get $orders", "seq next a\u202eb", "bench seq $a", "layout create $orders --preset twitter", "serve --name $a", "gateway --name a\u200bb --members a:1", "seq set a 5 -x", "seq set a 9223372036854775808", "seq update a", "seq update a --force", "seq create a --start x",
		"seq create a --increment 9223372036854775808", "seq create a --max none", "seq create a --mode fast", "seq create a --reset hourly",
		"seq create a --block-duration 99ms", "seq create a --min-block 0", "seq list --prefix=", "seq list --sort size", "seq list --contains=", "seq list --prefix a --contains b", "seq next a -n 0", "seq next a --request-id=",
		"seq next a -n 1000001 --request-id r",
		"bench", "bench id", "bench seq", "bench ids x", "bench ids --clients 0", "bench ids --clients 1,64", "bench ids --batch 1000001",
		"bench ids --rate -1", "bench ids --duration 0s", "bench ids --check=perhaps",
		"dev --port-base 0", "dev --port-base 65535", "dev --log-level loud", "dev --data-dir=",
		"serve --name=", "serve --data-dir=", "serve --api-addr 7700", "serve --api-addr :::7700", "serve --http-addr a:70000", "serve --join here", "serve --advertise-host a:1",
		"serve --advertise-host 0.0.0.0", "serve --tls-hosts a:1", "serve --tls-hosts a", "serve --bootstrap-expect 2", "serve --bootstrap-expect x", "serve --bootstrap-expect 1 --join a:1",
		"serve --lanes 0", "serve --lanes 65", "serve --initial-max-window 999ms", "serve --initial-max-window 25h", "serve --initial-wait-threshold 1500us",
		"serve --initial-wait-threshold 61s", "serve --initial-rollback maybe", "serve --initial-max-clock-offset 0", "serve --log-level loud", "serve --log-format xml",
		"serve --raft-addr :7702", "serve --raft-addr [::]:7702", "serve --http-addr 127.0.0.1:7700", "serve --redis-addr 7704", "serve --redis-addr 127.0.0.1:7703", "serve --initial-redis-create maybe",
		"serve --api-addr :7700", "serve --advertise-host a", "serve --insecure --secret-file /no/such/file", "serve --secret-file /no/such/file", "serve --tls-cert a", "serve --tls-key a", "serve --secret-file a --http-hosts b",
		"serve --client-tls=false", "serve --secret-file a --client-tls=false --tls-cert a --tls-key b", "serve --secret-file a --tls-cert a", "serve --audit-log /no/such/file",
		"id --secret-file /no/such/file", "id --ca-file /no/such/file", "token create a --scope ids:issue:* --expires -5m", "token update a --expires 1969-12-31T23:59:59Z", "id --token x", "bench seq a --token x", "serve --config /no/such/file", "serve --config /", "serve --nonvoter=maybe", "serve --nonvoter --bootstrap-expect 3",
		"gateway", "gateway now", "gateway --members here", "gateway --members 127.0.0.1:7700", "gateway --members a:1 --http-addr 127.0.0.1:7700",
		"gateway --members a:1 --data-dir x", "gateway --members a:1 --redis-create strict", "gateway --members a:1 --config /no/such/file",
	} {
		wrong(nil, strings.Fields(line)...)
	}
	wrong(nil, "seq", "update", "a", "--description", "two\nlines")
	for _, line := range []string{
		"seq create \xff", "seq next a\xff", "seq set \xff 5", "seq create a --format \xff{seq}", "seq list --prefix \xff", "seq next a --request-id \xff",
		"layout get \xff", "id --layout \xff",
	} {
		wrong(nil, strings.Split(line, " ")...)
	}
	wrong(map[string]string{"SNOWRAFT_LANES": "many"}, "serve")
	wrong(map[string]string{"SNOWRAFT_JOIN": "a:1,b"}, "serve")
	wrong(map[string]string{"SNOWRAFT_CONFIG": "/no/such/file"}, "serve")
	wrong(map[string]string{"SNOWRAFT_ADDR": "here"}, "status")
	wrong(map[string]string{"SNOWRAFT_ADDR": "a:1"}, "gateway")
	for _, f := range []struct{ name, content string }{
		{"unknown.yaml", "data-dir: /tmp\nlane: 3\n"},
		{"config.yaml", "config: other.yaml\n"},
		{"help.yaml", "help: true\n"},
		{"value.yaml", "# lanes\nlanes: 65\n"},
		{"empty.yaml", "lanes:\n"},
		{"list.yaml", "lanes: [1, 2]\n"},
		{"map.yaml", "join: {a: 1}\n"},
		{"join.yaml", "join:\n  - a:7703\n  - b\n"},
		{"twice.yaml", "lanes: 1\nlanes: 2\n"},
		{"nolist.yaml", "- lanes\n"},
		{"syntax.yaml", "a: b: c\n"},
		{"documents.yaml", "lanes: 1\n---\nlanes: 2\n"},
	} {
		wrong(nil, "serve", "--config", file(f.name, f.content))
	}
	for _, f := range []struct{ name, content string }{
		{"empty", "# no secret\n"},
		{"password", "hunter2\n"},
		{"cut", "snowraft-secret-1:aebagbafaydqqcikbmga2dqpcaireeyuculbogazdin\n"},
		{"mistyped", "snowraft-secret-1:bebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4qi4swlhy\n"},
	} {
		wrong(nil, "secret", "ca", "--secret-file", file(f.name, f.content))
	}
	wrong(nil, "secret", "create", "--out", filepath.Join(dir, "empty"))
	clitest.Golden(t, "errors", report.String())
}
