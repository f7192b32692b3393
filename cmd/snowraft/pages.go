package main

import "strings"

// pageSize is how much a list asks for in one call: the most there is.
const pageSize = 1000

// pages calls next with the token of each page, until there is no further one.
func pages(next func(token string) (following string, err error)) error {
	for token := ""; ; {
		following, err := next(token)
		if err != nil || following == "" {
			return err
		}
		token = following
	}
}

// enumName is a protobuf enum value as people write it: MEMBER_ROLE_VOTER is
// voter. One that is not specified is empty.
func enumName(name, prefix string) string {
	if name == prefix+"UNSPECIFIED" {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}
