package main

// style decorates text for a terminal; the zero style leaves it as it is.
type style struct{ colours bool }

func (s style) bold(text string) string  { return s.wrap("\x1b[1m", text) }
func (s style) faint(text string) string { return s.wrap("\x1b[2m", text) }
func (s style) red(text string) string   { return s.wrap("\x1b[31m", text) }
func (s style) green(text string) string { return s.wrap("\x1b[32m", text) }

func (s style) wrap(start, text string) string {
	if !s.colours || text == "" {
		return text
	}
	return start + text + "\x1b[0m"
}
