// Package nfc holds the rule for new names: the rule of package names, printable characters, and Unicode's
// normalization form C, so that two canonically equivalent names are not two sequences or two holders. Names
// of different characters that look alike stay different.
//
// The rule reads the Unicode tables of the program that it is built into, and two members of different
// versions may disagree about a character that is new to Unicode. So only a proposer may apply the rule,
// before a name is in the log. The state machine and lookups of a name apply the rule of package names. A name
// of characters that were assigned when it was checked is in normalization form C in every later version too.
package nfc

import (
	"fmt"
	"os"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
)

// Check returns an error unless name may be given to something new. The error begins with noun.
func Check(noun, name string) error {
	if err := names.Check(noun, name); err != nil {
		return err
	}
	for i, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s %+q: %U at byte %d is not printable in Unicode %s; choose another name", noun, name, r, i, unicode.Version)
		}
	}
	if !norm.NFC.IsNormalString(name) {
		return fmt.Errorf("%s %+q: not in Unicode normalization form C (NFC); use %+q", noun, name, norm.NFC.String(name))
	}
	return nil
}

// CheckProcess returns an error unless name may be given to a process, whose lanes append a slash and a number. The
// error begins with noun.
func CheckProcess(noun, name string) error {
	if len(name) > limits.ProcessBytes {
		return fmt.Errorf("%s of %d bytes: expected 1 to %d bytes", noun, len(name), limits.ProcessBytes)
	}
	return Check(noun, name)
}

// ProcessName returns the name of a process: the given one, or that of the host if it is empty. The error begins with noun.
func ProcessName(noun, name string) (string, error) {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("%s: %w", noun, err)
		}
		name = host
	}
	return name, CheckProcess(noun, name)
}
