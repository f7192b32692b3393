package processtest

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateClients = flag.Bool("redisclients.update", false, "write the table of Redis client libraries in docs/redis.md")

// redisLibrary is one version of a client library, with the file that pins it.
type redisLibrary struct {
	language, name, version string
	key                     string // name of the version in the programs of internal/test/processtest/testdata/redisclients
}

// pins are the files in internal/test/processtest/testdata/redisclients with versions, and what a line of theirs with a version is.
var pins = []struct{ language, file, line string }{
	{"Go", "go.mod", `(?m)^\t(?:github\.com/)(\S+) v(\S+)$`},
	{"JavaScript", "node/package.json", `(?m)^    "([^"]+)": "(?:npm:[a-z]+@)?([0-9.]+)"`},
	{"Python", "python/requirements.txt", `(?m)^(redis)==(\S+)$`},
	{"Java", "java/pom.xml", `(?m)^    <(jedis|lettuce)(?:\.\w+)?>(\S+)</`},
	{"PHP", "debian.txt", `(?m)^(php-\S+) (\S+)$`},
	{"Ruby", "debian.txt", `(?m)^(ruby-\S+) (\S+)$`},
	{"C", "debian.txt", `(?m)^(lib\S+) (\S+)$`},
}

// libraryNames are the names by which people know the pinned packages.
var libraryNames = map[string]string{
	"go-redis/redis/v8": "go-redis", "redis/go-redis/v9": "go-redis", "redis/rueidis": "rueidis", "valkey-io/valkey-go": "valkey-go",
	"gomodule/redigo": "redigo", "mediocregopher/radix/v4": "radix",
	"@valkey/valkey-glide": "valkey-glide", "ioredis": "ioredis", "ioredis5": "ioredis", "iovalkey": "iovalkey",
	"redis3": "node-redis", "redis4": "node-redis", "redis5": "node-redis", "redis6": "node-redis",
	"redis": "redis-py",
	"jedis": "Jedis", "lettuce": "Lettuce",
	"php-redis": "phpredis", "php-nrk-predis": "Predis", "ruby-redis": "redis-rb", "libhiredis-dev": "hiredis",
}

// redisLibraries returns the pinned versions in the order of the files.
func redisLibraries(t *testing.T) (all []redisLibrary) {
	t.Helper()
	for _, p := range pins {
		text, err := os.ReadFile("testdata/redisclients/" + p.file)
		if err != nil {
			t.Fatal(err)
		}
		before := len(all)
		for _, m := range regexp.MustCompile(p.line).FindAllStringSubmatch(string(text), -1) {
			name, ok := libraryNames[m[1]]
			if !ok {
				t.Fatalf("%s: %s has no name in libraryNames", p.file, m[1])
			}
			all = append(all, redisLibrary{p.language, name, m[2], m[1]})
		}
		if len(all) == before {
			t.Fatalf("%s pins no library", p.file)
		}
	}
	return all
}

// The table in docs/redis.md has the versions that TestRedisLibraries uses.
func TestRedisLibrariesAreDocumented(t *testing.T) {
	type row struct{ language, name string }
	var rows []row
	versions := make(map[row][]string)
	for _, l := range redisLibraries(t) {
		r := row{l.language, l.name}
		if versions[r] == nil {
			rows = append(rows, r)
		}
		versions[r] = append(versions[r], l.version)
	}
	want := "| language | library | versions |\n|---|---|---|\n"
	for _, r := range rows {
		slices.Sort(versions[r])
		want += "| " + r.language + " | " + r.name + " | " + strings.Join(versions[r], ", ") + " |\n"
	}
	const path = "../../../docs/redis.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^\| language \|.*\n(?:\|.*\n)+`)
	switch {
	case *updateClients:
		if err := os.WriteFile(path, table.ReplaceAllLiteral(page, []byte(want)), 0o644); err != nil {
			t.Fatal(err)
		}
	case string(table.Find(page)) != want:
		t.Errorf("docs/redis.md has another table of client libraries: run make redis-clients, then go test ./internal/test/processtest -redisclients.update")
	}
}
