package migrate

import "testing"

func TestSequenceOf(t *testing.T) {
	t.Parallel()
	var mappings []mapping
	for _, text := range []string{"order:*:eu=orders/*", "order:*=o/*", "users=people", "a*=all"} {
		m, err := parseMapping(text)
		if err != nil {
			t.Fatal(err)
		}
		mappings = append(mappings, m)
	}
	for name, want := range map[string]string{
		"order:7:eu": "orders/7", "order:eu": "o/eu", "order:": "o/", "order": "order", "users": "people", "users2": "users2", "abc": "all",
	} {
		if got := sequenceOf(mappings, name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
	for _, text := range []string{"", "a", "=b", "a=", "a**=b", "a=b*", "a*=b*c*"} {
		if m, err := parseMapping(text); err == nil {
			t.Errorf("%q is accepted: %+v", text, m)
		}
	}
}
