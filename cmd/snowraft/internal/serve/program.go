package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is the folder of this program in its repository.
const source = "./cmd/snowraft"

// programName returns the word or words that start this program in a shell. arg0 is the first argument of the process. The words
// are "go run ./cmd/snowraft" if "go run" has built the program and the working directory is the repository.
func programName(arg0 string) string {
	if filepath.Base(arg0) == arg0 {
		return arg0 // found in the PATH
	}
	for dir := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(arg0)), "/") {
		if !strings.HasPrefix(dir, "go-build") {
			continue
		}
		if _, err := os.Stat(filepath.Join(source, "main.go")); err == nil {
			return "go run " + source
		}
	}
	if found, err := exec.LookPath(filepath.Base(arg0)); err == nil && sameFile(found, arg0) {
		return filepath.Base(arg0)
	}
	return shellWord(arg0)
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b) //nolint:gosec // the first argument of this process
	return err == nil && os.SameFile(first, second)
}

// shellWord returns text as one word of a shell, quoted if necessary.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%:,=~", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && text[0] != '~' {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
