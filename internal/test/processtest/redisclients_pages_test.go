//go:build redisclients

package processtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// TestLanguagePages runs the programs of the pages about languages at a real member. "sh" blocks install libraries. The
// program of a "js" or "python" block gets its name from the next "text" block, which has its output.
func TestLanguagePages(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for page, least := range map[string]int{"javascript.md": 3, "python.md": 3} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, "docs", page))
			if err != nil {
				t.Fatal(err)
			}
			dir, redis := t.TempDir(), freeport.Address(t)
			m := startCluster(t, 1, "--redis-addr", redis)[0]
			var ports []string
			for written, address := range map[string]string{"7700": m.api, "7701": m.http, "7704": redis} {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					t.Fatal(err)
				}
				ports = append(ports, written, port)
			}
			if err := os.Symlink(filepath.Join(root, "proto"), filepath.Join(dir, "proto")); err != nil {
				t.Fatal(err)
			}
			run := func(command string) string {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(command, "pip install", "pip install -q --target ."))
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "SNOWRAFT_ADDR="+m.api)
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("$ %s\n%s%v", command, out, err)
				}
				return string(out)
			}
			ids := regexp.MustCompile(`\b[0-9]{18}\b`)
			source, played := "", 0
			for _, block := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
				switch language, body := block[1], block[2]; language {
				case "sh":
					run(body)
				case "js", "python":
					source = strings.NewReplacer(ports...).Replace(body)
				case "text":
					command, want, _ := strings.Cut(strings.TrimPrefix(body, "$ "), "\n")
					file := command[strings.LastIndex(command, " ")+1:]
					if err := os.WriteFile(filepath.Join(dir, file), []byte(source), 0o600); err != nil {
						t.Fatal(err)
					}
					if got := run(command); ids.ReplaceAllString(got, "ID") != ids.ReplaceAllString(want, "ID") {
						t.Errorf("$ %s\n%swant\n%s", command, got, want)
					}
					played++
				}
			}
			if played < least {
				t.Errorf("the page has %d programs, want %d", played, least)
			}
		})
	}
}
