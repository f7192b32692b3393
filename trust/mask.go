package trust

import (
	"regexp"
	"strings"
)

// secretText matches the text of a token or a cluster secret, or enough of one to help a guess. A shorter match
// could be a name.
var secretText = regexp.MustCompile(`(snowraft_[0-9]+_|` + secretPrefix + `)[A-Za-z0-9_]{16,}`)

// Mask returns a text for an error or a log, without the secrets of tokens and clusters: callers may paste a
// secret in place of a name or another value.
func Mask(text string) string {
	if !strings.Contains(text, tokenPrefix) {
		return text
	}
	return secretText.ReplaceAllString(text, "${1}...")
}
