package cli

// Style decorates text for a terminal; the zero style leaves it as it is.
type Style struct{ Colours bool }

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.wrap("\x1b[1m", text) }

// Faint returns text that stands back.
func (s Style) Faint(text string) string { return s.wrap("\x1b[2m", text) }

// Red returns red text.
func (s Style) Red(text string) string { return s.wrap("\x1b[31m", text) }

// Green returns green text.
func (s Style) Green(text string) string { return s.wrap("\x1b[32m", text) }

func (s Style) wrap(start, text string) string {
	if !s.Colours || text == "" {
		return text
	}
	return start + text + "\x1b[0m"
}
