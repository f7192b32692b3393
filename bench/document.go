package main

import (
	"fmt"
	"os"
	"strings"
)

const closing = "<!-- /bench -->"

func opening(name string) string { return "<!-- bench: " + name + " -->" }

// replaceIn puts a table between the markers of its name in a file.
func replaceIn(path, name, body string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := replace(string(text), name, body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(replaced), 0o600) //nolint:gosec // the path is that of the documentation
}

// replace puts body between the markers of a name. The text must contain each marker exactly once.
func replace(text, name, body string) (string, error) {
	before, rest, found := strings.Cut(text, opening(name)+"\n")
	if !found {
		return "", fmt.Errorf("there is no %s, expected it and %s after it where the table belongs", opening(name), closing)
	}
	if strings.Contains(rest, opening(name)) {
		return "", fmt.Errorf("%s appears twice; delete one", opening(name))
	}
	between, after, found := strings.Cut(rest, closing)
	if !found || strings.Contains(between, "<!-- bench: ") {
		return "", fmt.Errorf("after %s comes no %s", opening(name), closing)
	}
	return before + opening(name) + "\n\n" + strings.TrimSpace(body) + "\n\n" + closing + after, nil
}
