package cli

import (
	"strings"
	"unicode/utf8"
)

// foldedColumns is the width of help.
const foldedColumns = 80

// fold splits text at spaces into lines of at most width columns. A longer word has a line of its own. A width of 0 does
// not split.
func fold(text string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// refold folds the paragraphs of a help text that have a line beyond the width of help. Indented lines are lists, and stay.
func refold(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains("\n"+p, "\n ") && !fits(p, foldedColumns) {
			paragraphs[i] = strings.Join(fold(strings.ReplaceAll(p, "\n", " "), foldedColumns), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// fits reports whether each line of text has at most width columns; 0 means no limit.
func fits(text string, width int) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if width > 0 && utf8.RuneCountInString(line) > width {
			return false
		}
	}
	return true
}
