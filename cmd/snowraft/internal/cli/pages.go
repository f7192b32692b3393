package cli

// PageSize is how much a list asks for in one call: the most there is.
const PageSize = 1000

// Pages calls next with the token of each page, until there is no further one.
func Pages(next func(token string) (following string, err error)) error {
	for token := ""; ; {
		following, err := next(token)
		if err != nil || following == "" {
			return err
		}
		token = following
	}
}
